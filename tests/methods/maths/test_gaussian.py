"""Low-rank-plus-diagonal Gaussians against dense matrices and torch.distributions."""

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence
from torch.func import vmap

from lockstep_bench.methods.maths.gaussian import (
    LowRankNormal,
    LowRankPrecision,
    inverse,
    kl_diagonal,
    log_determinant,
)
from lockstep_bench.methods.maths.noise import Noise


@pytest.fixture(params=[1, 3], ids=["K=1", "K=3"])
def normal(request) -> LowRankNormal:
    generator = torch.Generator().manual_seed(request.param)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    return LowRankNormal(draw(6), draw(request.param, 6), draw(6).exp())


def test_low_rank_precision_equals_dense_inverse(normal):
    precision = torch.linalg.inv(normal.factors.T @ normal.factors + torch.diag(normal.variance))
    inverse_times_factors, diagonal = normal.precision_parts()
    torch.testing.assert_close(inverse_times_factors.T, precision @ normal.factors.T)
    torch.testing.assert_close(diagonal, precision.diag())


def test_low_rank_gaussian_samples_have_the_covariance(normal):
    n_samples = 200_000
    k, d = normal.factors.shape
    tape = torch.randn(n_samples * (k + d), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    samples = normal.sample(Noise(tape), n_samples)
    exact = normal.covariance()
    # The standard error of a covariance entry is at most sqrt(2 / n) times the product of the standard deviations.
    scale = torch.outer(exact.diag().sqrt(), exact.diag().sqrt())
    assert ((samples.T.cov() - exact) / scale).abs().max() < 5 * (2 / n_samples) ** 0.5
    assert ((samples.mean(0) - normal.mean) / exact.diag().sqrt()).abs().max() < 5 * n_samples**-0.5


def test_low_rank_log_density_entropy_and_kl_equal_torch(normal):
    dense = MultivariateNormal(normal.mean, normal.covariance())
    points = torch.randn(4, 6, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    alpha = torch.tensor(0.3, dtype=torch.float64)
    prior = MultivariateNormal(torch.zeros_like(normal.mean), torch.eye(6, dtype=torch.float64) / alpha)
    torch.testing.assert_close(normal.log_determinant(), torch.logdet(normal.covariance()))
    torch.testing.assert_close(normal.log_density(points), dense.log_prob(points))
    torch.testing.assert_close(normal.entropy(), dense.entropy())
    torch.testing.assert_close(normal.kl(alpha), kl_divergence(dense, prior))


def test_low_rank_gaussian_without_factors_is_diagonal():
    mean, variance = torch.zeros(5, dtype=torch.float64), torch.arange(1.0, 6.0, dtype=torch.float64)
    normal = LowRankNormal(mean, mean.new_zeros(0, 5), variance)
    point = torch.ones(1, 5, dtype=torch.float64)
    factorised = torch.distributions.Normal(mean, variance.sqrt())
    torch.testing.assert_close(normal.log_density(point), factorised.log_prob(point).sum(-1))
    torch.testing.assert_close(normal.covariance(), variance.diag())


def test_stacked_gaussians_equal_single_ones(normal):
    scales = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)

    def everything(scale):
        one = LowRankNormal(scale * normal.mean, scale * normal.factors, scale * normal.variance)
        other = LowRankPrecision(*one)
        ones = torch.ones(2, 6, dtype=torch.float64)
        return one.log_density(ones), one.kl(scale), *one.precision_parts(), other.solve(ones)

    for number, scale in enumerate(scales):
        for stacked, alone in zip(vmap(everything)(scales), everything(scale), strict=True):
            torch.testing.assert_close(stacked[number], alone)


def linear_map(normal: LowRankNormal | LowRankPrecision) -> torch.Tensor:
    """The matrix (D, K + D) that takes standard normal noise to a sample's deviation from the mean."""
    k, d = normal.factors.shape
    basis = torch.eye(k + d, dtype=torch.float64)
    return (normal.transform(basis[:, :k], basis[:, k:]) - normal.mean).T


def test_linear_sampling_map_has_exact_covariance(normal):
    root = linear_map(normal)
    torch.testing.assert_close(root @ root.T, normal.covariance())


def test_precision_sampling_map_has_exact_covariance(normal):
    low_rank = LowRankPrecision(*normal)
    root, precision = linear_map(low_rank), low_rank.precision()
    torch.testing.assert_close(precision, normal.covariance())
    torch.testing.assert_close(root @ root.T, torch.linalg.inv(precision))


def test_low_rank_precision_solve_equals_dense_solution(normal):
    low_rank = LowRankPrecision(*normal)
    vectors = torch.randn(4, 6, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    torch.testing.assert_close(low_rank.solve(vectors), torch.linalg.solve(low_rank.precision(), vectors.T).T)
    torch.testing.assert_close(low_rank.solve(vectors[0]), low_rank.solve(vectors)[0])


def test_precision_with_zero_factors_is_diagonal(normal):
    low_rank = LowRankPrecision(normal.mean, torch.zeros_like(normal.factors), normal.variance)
    torch.testing.assert_close(low_rank.solve(torch.ones_like(normal.mean)), 1 / normal.variance)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_computed_inverse_times_matrix_is_identity(k):
    matrix = torch.randn(k, k, generator=torch.Generator().manual_seed(k), dtype=torch.float64) + 3 * torch.eye(k)
    torch.testing.assert_close(inverse(matrix) @ matrix, torch.eye(k, dtype=torch.float64))


@pytest.mark.parametrize("k", [1, 3])
def test_singular_matrix_does_not_affect_stacked_neighbours(k):
    stack = torch.stack([torch.zeros(k, k), 2 * torch.eye(k)])
    inverses = vmap(inverse)(stack)
    assert not inverses[0].isfinite().all()
    torch.testing.assert_close(inverses[1], 0.5 * torch.eye(k))
    torch.testing.assert_close(vmap(log_determinant)(stack)[1], torch.tensor(2.0).log() * k)


def test_diagonal_kl_equals_torch():
    generator = torch.Generator().manual_seed(2)
    mean, log_sd = torch.randn(2, 5, generator=generator, dtype=torch.float64)
    alpha = torch.tensor(0.3, dtype=torch.float64)
    q = torch.distributions.Normal(mean, log_sd.exp())
    prior = torch.distributions.Normal(torch.zeros(5, dtype=torch.float64), alpha**-0.5)
    torch.testing.assert_close(kl_diagonal(mean, log_sd, alpha), torch.distributions.kl_divergence(q, prior).sum())


@pytest.mark.parametrize("precision", [0.3, [0.3, 1e-6, 2.0, 1.0, 5.0, 0.1]], ids=["one", "each"])
def test_kl_of_low_rank_precision_equals_torch(normal, precision):
    q = LowRankPrecision(*normal)
    alpha = torch.tensor(precision, dtype=torch.float64)
    prior = MultivariateNormal(torch.zeros_like(q.mean), precision_matrix=torch.diag(alpha.expand(6)))
    torch.testing.assert_close(q.kl(alpha), kl_divergence(MultivariateNormal(q.mean, q.covariance()), prior))
