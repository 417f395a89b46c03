"""Low-rank algebra against dense matrices."""

import pytest
import torch

from methods.gaussian import LowRankNormal, inverse, kl_diagonal
from methods.noise import Noise


@pytest.fixture(params=[1, 3], ids=["K=1", "K=3"])
def normal(request) -> LowRankNormal:
    generator = torch.Generator().manual_seed(request.param)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    return LowRankNormal(draw(6), draw(request.param, 6), draw(6).exp())


def test_precision_parts_equal_the_dense_inverse(normal):
    precision = torch.linalg.inv(normal.factors.T @ normal.factors + torch.diag(normal.variance))
    inverse_times_factors, diagonal = normal.precision_parts()
    torch.testing.assert_close(inverse_times_factors.T, precision @ normal.factors.T)
    torch.testing.assert_close(diagonal, precision.diag())


def test_samples_have_the_dense_covariance(normal):
    n_samples = 200_000
    k, d = normal.factors.shape
    tape = torch.randn(n_samples * (k + d), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    samples = normal.sample(Noise(tape), n_samples)
    exact = normal.covariance()
    # The standard error of a covariance entry is at most sqrt(2 / n) times the product of the standard deviations.
    scale = torch.outer(exact.diag().sqrt(), exact.diag().sqrt())
    assert ((samples.T.cov() - exact) / scale).abs().max() < 5 * (2 / n_samples) ** 0.5
    assert ((samples.mean(0) - normal.mean) / exact.diag().sqrt()).abs().max() < 5 * n_samples**-0.5


@pytest.mark.parametrize("k", [1, 2, 4])
def test_inverse_of_a_small_matrix(k):
    matrix = torch.randn(k, k, generator=torch.Generator().manual_seed(k), dtype=torch.float64) + 3 * torch.eye(k)
    torch.testing.assert_close(inverse(matrix) @ matrix, torch.eye(k, dtype=torch.float64))


def test_kl_of_a_factorised_gaussian_equals_torch_distributions():
    generator = torch.Generator().manual_seed(2)
    mean, log_sd = torch.randn(2, 5, generator=generator, dtype=torch.float64)
    alpha = torch.tensor(0.3, dtype=torch.float64)
    q = torch.distributions.Normal(mean, log_sd.exp())
    prior = torch.distributions.Normal(torch.zeros(5, dtype=torch.float64), alpha**-0.5)
    torch.testing.assert_close(kl_diagonal(mean, log_sd, alpha), torch.distributions.kl_divergence(q, prior).sum())
