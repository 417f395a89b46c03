"""Mixed precision: only layers inside a network work in bfloat16."""

import pytest
import torch
from torch.func import vmap

from lockstep_bench.methods.maths.gradients import grad
from lockstep_bench.methods.maths.noise import LiveNoise
from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.layers import Dense
from lockstep_bench.methods.networks.mixed_precision import Mixed
from lockstep_bench.methods.networks.mlp import MLP, features
from lockstep_bench.methods.networks.resnets import ResNet

UNIT_ROUNDOFF = 2.0**-8  # of bfloat16


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_mixed_precision_product_rounds_its_factors():
    network, x = MLP(5, (), 3, bias=False), drawn(7, 5)
    weights = drawn(network.dim, seed=1)
    x_short, weights_short = (one.bfloat16().double() for one in (x, weights))
    exact = x_short @ weights_short.reshape(5, 3)
    found = Mixed(network, torch.bfloat16)(weights, x)
    assert found.dtype == torch.float32
    assert (found - network(weights, x)).abs().max() > 1e-4  # float32 would be closer
    torch.testing.assert_close(found.double(), exact, rtol=UNIT_ROUNDOFF, atol=1e-6)


@pytest.mark.parametrize("norm", ["batch", "group", "filter-response"])
def test_only_inner_layers_use_low_precision(norm):
    network = ResNet((3, 8, 8), 4, widths=(4, 8), blocks=1, norm=norm)
    weights = network.initial_weights(LiveNoise(torch.Generator().manual_seed(0), torch.float32))
    mixed, x, seen = Mixed(network, torch.bfloat16), drawn(6, 192), []

    def apply(number, layer, inputs):
        outputs = layer(network.split(weights)[number], inputs)
        seen.append((type(layer).__name__, outputs.dtype))
        return outputs

    found = mixed.forward(x, apply)
    assert {dtype for name, dtype in seen if name == "Conv2d"} == {torch.bfloat16}
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, network(weights, x), rtol=0.1, atol=0.1)


def test_mixed_precision_gradients_are_float32_and_close():
    network, x = ConvNet((1, 8, 8), (4, 4), 3), drawn(20, 64)
    weights = drawn(network.dim, seed=1) / 5
    mixed = Mixed(network, torch.bfloat16)
    short, long = (grad(lambda w, n=n: n(w, x).square().mean())(weights) for n in (mixed, network))
    assert short.dtype == torch.float32
    assert not torch.equal(short, long)
    assert (short - long).norm() < 0.02 * long.norm()


def test_mixed_precision_network_keeps_all_other_attributes():
    network = MLP(5, (4,), 3)
    mixed, weights = Mixed(network, torch.bfloat16), drawn(3, network.dim)
    assert (mixed.dim, mixed.n_outputs, mixed.image) == (network.dim, 3, None)
    assert isinstance(mixed.layers[-1], Dense)
    assert features(mixed, weights[0], drawn(2, 5)).shape == (2, 4)
    stacked = vmap(mixed, (0, None))(weights, drawn(2, 5))
    torch.testing.assert_close(stacked[1], mixed(weights[1], drawn(2, 5)))
