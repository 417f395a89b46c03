"""Gradients of single examples against a loop of autograd."""

import pytest
import torch

from lockstep_bench.methods.networks.convnets import ConvNet
from lockstep_bench.methods.networks.example_gradients import example_gradients
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.networks.resnets import PreActResNet

N_ROWS, N_SAMPLES = 5, 2
NETWORKS = {
    "perceptron": MLP(16, (4, 3), n_outputs=2),
    "linear without bias": MLP(16, (), n_outputs=2, bias=False),
    "convolutions": ConvNet((1, 4, 4), (2, 3), n_outputs=2),
    "groups": PreActResNet((1, 4, 4), 2, widths=(3, 4), blocks=1, norm="group"),
    "filter responses": PreActResNet((1, 4, 4), 2, widths=(3, 4), blocks=1, norm="filter-response"),
}


def numbers(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loss(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (outputs.square().sum(-1) - y).exp()


def gradient(network, theta, x, y) -> torch.Tensor:
    leaf = theta.clone().requires_grad_()
    return torch.autograd.grad(loss(network(leaf, x[None]), y[None]).sum(), leaf)[0]


@pytest.fixture(params=NETWORKS.values(), ids=NETWORKS)
def both(request):
    """Gradients and losses, and the same by a loop: the gradients, (n, D), and losses (S, M)."""
    network = request.param
    weights = 0.3 * numbers(N_SAMPLES, network.dim, seed=1)
    x, y = numbers(N_ROWS, 16, seed=2), numbers(N_ROWS, seed=3)
    rows = [gradient(network, theta, *row) for theta in weights for row in zip(x, y, strict=True)]
    losses = torch.stack([loss(network(theta, x), y) for theta in weights])
    return *example_gradients(network, loss, weights, x, y), torch.stack(rows), losses


def test_losses_are_those_of_all_samples_and_rows(both):
    _, found, _, losses = both
    torch.testing.assert_close(found, losses)


def test_combinations_sums_and_products_equal_a_loop(both):
    found, _, rows, _ = both
    n, dim = rows.shape
    coefficients, vectors = numbers(3, n, seed=4), numbers(3, dim, seed=5)
    torch.testing.assert_close(found.combined(coefficients), coefficients @ rows)
    torch.testing.assert_close(found.products(vectors), vectors @ rows.T)
    torch.testing.assert_close(found.gram(), rows @ rows.T)
    torch.testing.assert_close(found.squares(), (rows**2).sum(0))
    torch.testing.assert_close(found.mean(), rows.mean(0))


def test_dense_layers_keep_no_vector_of_all_weights():
    network = MLP(300, (200,), n_outputs=100)
    gradients, _ = example_gradients(
        network, loss, numbers(1, network.dim, seed=1), numbers(4, 300, seed=2), numbers(4, seed=3)
    )
    kept = sum(part.numel() for layer in gradients.layers for part in layer)
    assert kept == 4 * (300 + 1 + 200 + 200 + 1 + 100)
