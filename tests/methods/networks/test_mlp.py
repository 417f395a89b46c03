"""The functional network against torch.nn."""

import pytest
import torch

from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.networks.mlp import MLP


@pytest.mark.parametrize("activation", ["relu", "softplus", "tanh"])
def test_mlp_equals_torch_nn(activation):
    network = MLP(3, hidden=(5, 4), n_outputs=2, activation=activation)
    weights = torch.randn(network.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    function = {"relu": torch.nn.ReLU, "softplus": torch.nn.Softplus, "tanh": torch.nn.Tanh}[activation]
    layers, start = [], 0
    for fan_in, fan_out in [(3, 5), (5, 4), (4, 2)]:
        linear = torch.nn.Linear(fan_in, fan_out, dtype=torch.float64)
        middle = start + fan_in * fan_out
        linear.weight.data = weights[start:middle].reshape(fan_in, fan_out).T
        linear.bias.data = weights[middle : middle + fan_out]
        start = middle + fan_out
        layers += [linear, function()]
    reference = torch.nn.Sequential(*layers[:-1])
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert start == network.dim
    torch.testing.assert_close(network(weights, x), reference(x))


def test_linear_mlp_has_no_hidden_layer():
    assert MLP(6, hidden=(50,)).linear().dim == 7
    assert MLP(6, hidden=(), bias=False).dim == 6


def test_mlp_gradient_is_one_flat_vector():
    network = MLP(3, hidden=(5,))
    weights = network.initial_weights(NoiseGauge(torch.float64))
    x = torch.ones(2, 3, dtype=torch.float64)
    assert torch.func.grad(lambda w: network(w, x).sum())(weights).shape == (network.dim,)


def test_initial_weights_follow_torch_nn_linear():
    network = MLP(100, hidden=(200,))
    gauge = NoiseGauge(torch.float64)
    network.initial_weights(gauge)
    draws = torch.randn(gauge.used, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    first = network.initial_weights(Noise(draws))[: 100 * 200]
    torch.manual_seed(0)
    reference = torch.nn.Linear(100, 200).weight.detach()
    assert first.abs().max() <= 0.1
    assert abs(first.std().item() / reference.std().item() - 1) < 0.02
    assert first.quantile(0.25).item() == pytest.approx(-0.05, abs=0.002)


def test_noise_object_uses_each_number_once():
    noise = Noise(torch.arange(5.0))
    assert noise.normal(2).tolist() == [0, 1]
    assert noise.normal(1, 3).tolist() == [[2, 3, 4]]
    with pytest.raises(RuntimeError, match="a step has 5 random numbers"):
        noise.normal()


def test_noise_object_gives_uniform_numbers():
    draws = torch.randn(100_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    uniform = Noise(draws).uniform(100_000)
    grid = torch.linspace(0.1, 0.9, 9, dtype=torch.float64)
    assert (uniform.quantile(grid) - grid).abs().max() < 0.01
