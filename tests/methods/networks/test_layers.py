"""Layers against torch.nn."""

import pytest
import torch

from lockstep_bench.methods.networks.layers import Conv2d, Dense, fan_in, initial_scale

LAYERS = [Dense(3, 4), Dense(3, 4, bias=False), Conv2d(2, 4), Conv2d(2, 4, kernel=2, stride=2, padding=0, bias=False)]

each = pytest.mark.parametrize("layer", LAYERS, ids=str)


def random_case(layer, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(layer.shape, generator=generator, dtype=torch.float64)
    shape = (5, 3) if isinstance(layer, Dense) else (5, 2, 6, 6)
    return matrix, torch.randn(shape, generator=generator, dtype=torch.float64)


@each
def test_layer_equals_torch_nn(layer):
    matrix, x = random_case(layer)
    pieces = layer.pieces(matrix)
    assert [piece.numel() for piece in pieces] == layer.sizes
    if isinstance(layer, Dense):
        reference = torch.nn.Linear(3, 4, layer.bias, dtype=torch.float64)
    else:
        options = {"kernel_size": layer.kernel, "stride": layer.stride, "padding": layer.padding}
        reference = torch.nn.Conv2d(2, 4, bias=layer.bias, dtype=torch.float64, **options)
    reference.weight.data = matrix[:, : fan_in(layer)].reshape(reference.weight.shape)
    if layer.bias:
        reference.bias.data = matrix[:, -1]
    torch.testing.assert_close(layer(pieces, x), reference(x))


@each
def test_layer_is_linear_in_its_weights(layer):
    (one, x), (other, _) = random_case(layer), random_case(layer, seed=1)
    total, one, other = (layer.pieces(matrix) for matrix in (2 * one - other, one, other))
    torch.testing.assert_close(layer(total, x), 2 * layer(one, x) - layer(other, x))


def test_initial_weight_scale_equals_torch_nn():
    assert fan_in(Conv2d(2, 4)) == 18
    assert initial_scale(Dense(16, 2)) == 0.25
