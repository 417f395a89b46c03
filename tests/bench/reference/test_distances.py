"""Distances between dense Gaussians against SciPy, torch.distributions and closed forms."""

import numpy as np
import pytest
import scipy.linalg
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from lockstep_bench.bench.reference.distances import GaussianTarget, relative_distance, sampling_noise

DIM = 6


def gaussian(seed: int, rank: int = DIM) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    mean, half = generator.standard_normal(DIM), generator.standard_normal((DIM, rank))
    return mean, half @ half.T


@pytest.mark.parametrize("rank", [2, DIM], ids=["singular", "regular"])
@pytest.mark.parametrize("swapped", [False, True])
def test_wasserstein_distance_equals_matrix_square_root_formula(rank, swapped):
    (mean, covariance), (other_mean, other) = gaussian(0, rank), gaussian(1)
    # SciPy's root is of the matrix that is regular, in whichever order W2 is written.
    middle = scipy.linalg.sqrtm(other)
    cross = scipy.linalg.sqrtm(middle @ covariance @ middle + 1e-14 * np.eye(DIM)).real.trace()
    square = np.sum((mean - other_mean) ** 2) + np.trace(covariance) + np.trace(other) - 2 * cross
    pair = [(mean, covariance), (other_mean, other)]
    ours = GaussianTarget(*pair[swapped]).scaled_wasserstein(*pair[not swapped])
    assert ours == pytest.approx(np.sqrt(square) / DIM, rel=1e-6)


def test_commuting_covariances_give_distance_of_standard_deviations():
    mean, other_mean, sd, other_sd = np.random.default_rng(2).uniform(1, 2, (4, DIM))
    wanted = np.sqrt(np.sum((mean - other_mean) ** 2 + (sd - other_sd) ** 2)) / DIM
    assert GaussianTarget(mean, np.diag(sd**2)).scaled_wasserstein(other_mean, np.diag(other_sd**2)) == pytest.approx(
        wanted
    )


def released_wasserstein(mean: np.ndarray, covariance: np.ndarray, target: GaussianTarget) -> float:
    """The distance of experiments/utils/metrics.py in ayeright/swafa, by torch in float32, divided by D."""

    def root(matrix: torch.Tensor) -> torch.Tensor:
        values, vectors = torch.linalg.eigh(matrix)
        values = torch.where(values.abs() > 1e3 * 1.1920929e-07 * values.abs().max(), values, 0)
        return vectors @ values.sqrt().diag() @ vectors.mT

    m1, s1, m2, s2 = (torch.tensor(part).float() for part in (target.mean, target.covariance, mean, covariance))
    root2 = root(s2)
    square = (m1 - m2).square().sum() + torch.trace(s1 + s2 - 2 * root(root2 @ s1 @ root2))
    return square.sqrt().item() / len(mean)


@pytest.mark.parametrize("condition", [1e1, 1e3, 1e6])
def test_float32_wasserstein_equals_the_papers_released_code(condition):
    half = gaussian(7)[1]
    vectors = np.linalg.eigh(half)[1]
    covariance = (vectors * np.geomspace(1, 1 / condition, DIM)) @ vectors.T
    target, (mean, _) = GaussianTarget(gaussian(8)[0], gaussian(7)[1]), gaussian(9)
    ours = target.scaled_wasserstein_single(mean, covariance)
    assert ours == pytest.approx(released_wasserstein(mean, covariance, target), rel=1e-4)
    if condition < 1e2:
        assert ours == pytest.approx(target.scaled_wasserstein(mean, covariance), rel=1e-4)


def test_float32_wasserstein_overstates_distance_of_small_variances():
    # One variance is 1e-6 of the other: both roots drop it, so that W^2 is twice that variance instead of zero.
    target = GaussianTarget(np.zeros(2), np.diag([1.0, 1e-6]))
    itself = target.mean, target.covariance
    assert target.scaled_wasserstein(*itself) == pytest.approx(0, abs=1e-7)
    assert target.scaled_wasserstein_single(*itself) == pytest.approx(np.sqrt(2e-6) / 2, rel=0.1)


def test_weights_without_covariance_are_compared_only_by_mean():
    (mean, covariance), (other_mean, other) = gaussian(0), gaussian(1)
    apart, without = GaussianTarget(mean, covariance, n_apart=1), GaussianTarget(mean[:-1], covariance[:-1, :-1])
    assert apart.relative_mean(other_mean) == relative_distance(other_mean, mean)
    assert apart.relative_covariance(other) == without.relative_covariance(other[:-1, :-1])
    for distance in ("scaled_wasserstein", "scaled_wasserstein_single", "kl"):
        assert getattr(apart, distance)(other_mean, other) == getattr(without, distance)(
            other_mean[:-1], other[:-1, :-1]
        )


def test_kl_divergence_equals_that_of_torch():
    one, other = gaussian(3), gaussian(4)
    wanted = kl_divergence(*(MultivariateNormal(torch.tensor(m), torch.tensor(c)) for m, c in (one, other)))
    assert GaussianTarget(*other).kl(*one) == pytest.approx(wanted.item())


def test_kl_is_infinite_for_singular_covariances():
    mean, covariance = gaussian(5)
    assert GaussianTarget(mean, covariance).kl(mean, np.zeros((DIM, DIM))) == np.inf
    assert GaussianTarget(mean, np.zeros((DIM, DIM))).kl(mean, covariance) == np.inf


def test_distances_are_zero_for_the_true_posterior():
    target = GaussianTarget(*gaussian(6))
    itself = target.mean, target.covariance
    assert target.relative_mean(target.mean) == target.relative_covariance(target.covariance) == 0
    assert target.kl(*itself) == pytest.approx(0, abs=1e-10)
    assert target.scaled_wasserstein(*itself) == pytest.approx(0, abs=1e-6)


def test_relative_distance_is_a_ratio_of_frobenius_norms():
    assert relative_distance(np.array([[3.0, 0.0], [0.0, 8.0]]), np.array([[0.0, 0.0], [0.0, 4.0]])) == 5 / 4


@pytest.mark.parametrize("rank", [2, DIM])
def test_sampling_noise_formula_matches_simulated_covariances(rank):
    mean, covariance = gaussian(3, rank)
    generator = np.random.default_rng(0)
    squares = [
        relative_distance(np.cov(generator.multivariate_normal(mean, covariance, 200).T), covariance) ** 2
        for _ in range(400)
    ]
    # The sum of squares of 400 repeats varies by a few per cent.
    assert np.sqrt(np.mean(squares)) == pytest.approx(sampling_noise(covariance, 200), rel=0.1)
