"""Gradients against torch's own, and the memory that is the reason to have them."""

import pytest
import torch
from torch import func

from lockstep_bench.bench.environment.memory import peak_during
from lockstep_bench.methods.maths import gradients
from lockstep_bench.methods.maths.gaussian import LowRankNormal
from lockstep_bench.methods.maths.gradients import grad, grad_and_value
from lockstep_bench.methods.maths.noise import Noise

POINTS = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)


def function(x):
    return (x.sin().exp() * x).sum() ** 2


@pytest.mark.parametrize("recorded", [False, True])
def test_gradients_equal_torch_func_with_and_without_vmap(recorded):
    with torch.set_grad_enabled(recorded):
        assert torch.equal(grad(function)(POINTS), func.grad(function)(POINTS))
        for ours, theirs in zip(grad_and_value(function)(POINTS), func.grad_and_value(function)(POINTS), strict=True):
            assert torch.equal(ours, theirs)
        assert torch.equal(func.vmap(grad(function))(POINTS), func.vmap(func.grad(function))(POINTS))


def test_gradient_is_with_respect_to_first_argument_only():
    gradient = grad(lambda x, y, power: (x**power * y).sum())(POINTS, 3 * POINTS, 2)
    torch.testing.assert_close(gradient, 6 * POINTS**2)


def test_gradient_function_can_be_differentiated_again():
    with torch.no_grad():
        ours = grad(lambda x: grad(function)(x).square().sum())(POINTS)
        theirs = func.grad(lambda x: func.grad(function)(x).square().sum())(POINTS)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)


def test_backward_pass_frees_used_tensors():
    def call(gradient):
        return lambda: gradient(lambda x: x.sin().exp().sin().exp().sum())(vector)

    vector = torch.ones(2**18)
    with torch.no_grad():
        _, ours = peak_during(call(grad), vector.device)
        _, theirs = peak_during(call(func.grad), vector.device)
    # The first half's two activations, and two more in the backward pass of the second; torch keeps all, which are 7.
    assert 4 * vector.nbytes <= ours < 4.01 * vector.nbytes < theirs


@pytest.mark.parametrize("at_once", [0, 10**6])
def test_expected_gradient_equals_the_explicit_average(monkeypatch, at_once):
    monkeypatch.setattr(gradients, "AT_ONCE", at_once)
    generator = torch.Generator().manual_seed(0)
    mean, variance, *columns = torch.rand(4, 5, generator=generator)
    q, targets = LowRankNormal(mean, torch.stack(columns), variance), torch.rand(3, 5, generator=generator)
    tape, scale = torch.randn(3 * (2 + 5), generator=generator), torch.tensor(7.0)
    latent, unit = tape[:6].reshape(3, 2), tape[6:].reshape(3, 5)

    def cube(weights: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return ((weights - target) ** 3).sum()

    found = gradients.expected_gradient(cube, q, Noise(tape), (targets,), scale)
    if at_once:
        slopes = scale * (3 * (latent @ q.factors + mean + variance.sqrt() * unit - targets) ** 2)
        expected = slopes.mean(0), latent.T @ slopes / 3, (slopes * unit).mean(0)
        values = [cube(*pair) for pair in zip(latent @ q.factors + mean + variance.sqrt() * unit, targets, strict=True)]
    else:
        expected, values = (torch.zeros(5), torch.zeros(2, 5), torch.zeros(5)), []
        for h, z, target in zip(latent, unit, targets, strict=True):
            weights = torch.addcmul(torch.addmv(mean, q.factors.T, h), variance.sqrt(), z)
            g = 3 * (weights - target) ** 2
            values.append(cube(weights, target))
            expected = expected[0] + g, torch.addr(expected[1], h, g), torch.addcmul(expected[2], z, g)
        expected = tuple(scale / 3 * total for total in expected)
    for part, wanted in zip(found[:3], expected, strict=True):
        assert torch.equal(part, wanted)
    torch.testing.assert_close(found.value, scale * torch.stack(values).mean())
    of_mean, value = gradients.expected_gradient_of_mean(cube, q, Noise(tape), (targets,), scale)
    assert torch.equal(of_mean, expected[0])
    torch.testing.assert_close(value, found.value)
