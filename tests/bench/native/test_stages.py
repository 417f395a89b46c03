"""Compiled stages of convolutional networks, against torch's operations in double precision."""

import numpy as np
import pytest
import torch
from torch.nn.functional import avg_pool2d, conv2d, relu

from lockstep_bench.bench.native.libraries import lanes
from lockstep_bench.bench.native.stages import Stage

# Those of LeNet-5; and sizes that no panel of registers divides, with a row and a column that no square covers.
STAGES = [Stage(1, 28, 28, 6, 5, 2, 2), Stage(6, 14, 14, 16, 5, 0, 2), Stage(3, 9, 10, 7, 3, 1, 2)]
OTHERS = [Stage(2, 8, 8, 5, 1, 0, 1), Stage(2, 7, 7, 4, 4, 3, 3)]
N_IMAGES = [1, 16, 37]


def tensors(stage, n):
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n, stage.channels_in, stage.height, stage.width, generator=generator)
    weight = torch.randn(stage.channels_out, stage.channels_in, stage.kernel, stage.kernel, generator=generator)
    return x, 0.2 * weight, torch.randn(stage.channels_out, generator=generator)


def by_torch(stage, x, weight, bias):
    return avg_pool2d(relu(conv2d(x, weight, bias, padding=stage.padding)), stage.side)


@pytest.mark.parametrize("stage", STAGES + OTHERS, ids=lambda stage: "-".join(map(str, stage)))
@pytest.mark.parametrize("n", N_IMAGES)
def test_outputs_and_gradients_are_those_of_torch(stage, n):
    x, weight, bias = tensors(stage, n)
    doubles = [tensor.double().requires_grad_() for tensor in (x, weight, bias)]
    expected = by_torch(stage, *doubles)
    gradient = torch.randn(expected.shape, generator=torch.Generator().manual_seed(0))
    of_inputs, of_weights, of_biases = torch.autograd.grad(expected, doubles, gradient.double())

    outputs, signs = stage.forward(x, weight, bias)
    found = stage.backward(gradient, signs, x, weight, of_inputs=True)
    torch.testing.assert_close(outputs.double(), expected, rtol=1e-5, atol=1e-5)
    for one, other in zip(found, (of_inputs, of_weights, of_biases), strict=True):
        torch.testing.assert_close(one.double(), other, rtol=2e-5, atol=2e-5 * float(other.abs().max()))

    without = stage.backward(gradient, signs, x, weight, of_inputs=False)
    assert without[0] is None
    assert all(map(torch.equal, without[1:], found[1:]))


def test_images_may_have_any_strides():
    stage = STAGES[2]
    x, weight, bias = tensors(stage, 21)
    apart = x.permute(2, 0, 3, 1).contiguous().permute(1, 3, 0, 2)
    outputs, signs = stage.forward(x, weight, bias)
    assert torch.equal(stage.forward(apart, weight.transpose(2, 3).contiguous().transpose(2, 3), bias)[0], outputs)
    gradient = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(0))
    assert gradient.stride() != outputs.stride()
    one = stage.backward(gradient, signs, x, weight, of_inputs=True)
    other = stage.backward(torch.empty_like(outputs).copy_(gradient), signs, apart, weight, of_inputs=True)
    assert all(map(torch.equal, one, other))


def test_images_do_not_depend_on_each_other():
    stage = STAGES[1]
    x, weight, bias = tensors(stage, lanes() + 3)
    alone = [stage.forward(x[number : number + 1], weight, bias)[0] for number in range(len(x))]
    assert torch.equal(torch.cat(alone), stage.forward(x, weight, bias)[0])


def test_bits_do_not_depend_on_the_number_of_threads():
    stage = STAGES[0]
    x, weight, bias = tensors(stage, 5 * lanes() + 1)
    results = []
    before = torch.get_num_threads()
    for n_threads in (1, 3):
        torch.set_num_threads(n_threads)
        try:
            outputs, signs = stage.forward(x, weight, bias)
            results.append((outputs, *stage.backward(outputs, signs, x, weight, of_inputs=True)))
        finally:
            torch.set_num_threads(before)
    assert all(map(torch.equal, *results))


def test_a_number_that_is_not_one_is_passed_on():
    stage = OTHERS[0]
    x, weight, bias = tensors(stage, 2)
    x[1, 0, 2, 3] = np.nan
    outputs, signs = stage.forward(x, weight, bias)
    assert torch.equal(outputs.isnan(), by_torch(stage, x, weight, bias).isnan())
    gradient = stage.backward(torch.ones_like(outputs), signs, torch.zeros_like(x), weight, of_inputs=True)[0]
    torch.testing.assert_close(gradient[1, :, 2, 3], weight.sum(0)[:, 0, 0])
