"""Distances between dense Gaussians against SciPy, torch.distributions and closed forms."""

import numpy as np
import pytest
import scipy.linalg
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from bench.reference.distances import Target, relative_distance, sampling_noise

DIM = 6


def gaussian(seed: int, rank: int = DIM) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    mean, half = generator.standard_normal(DIM), generator.standard_normal((DIM, rank))
    return mean, half @ half.T


@pytest.mark.parametrize("rank", [2, DIM], ids=["singular", "regular"])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_wasserstein_distance_equals_the_matrix_square_root_formula(rank, swapped):
    (mean, covariance), (other_mean, other) = gaussian(0, rank), gaussian(1)
    # SciPy's root is of the matrix that is regular, in whichever order W2 is written.
    middle = scipy.linalg.sqrtm(other)
    cross = scipy.linalg.sqrtm(middle @ covariance @ middle + 1e-14 * np.eye(DIM)).real.trace()
    square = np.sum((mean - other_mean) ** 2) + np.trace(covariance) + np.trace(other) - 2 * cross
    pair = [(mean, covariance), (other_mean, other)]
    ours = Target(*pair[swapped]).scaled_wasserstein(*pair[not swapped])
    assert ours == pytest.approx(np.sqrt(square) / DIM, rel=1e-6)


def test_the_wasserstein_distance_of_commuting_covariances_is_that_of_the_deviations():
    mean, other_mean, sd, other_sd = np.random.default_rng(2).uniform(1, 2, (4, DIM))
    wanted = np.sqrt(np.sum((mean - other_mean) ** 2 + (sd - other_sd) ** 2)) / DIM
    assert Target(mean, np.diag(sd**2)).scaled_wasserstein(other_mean, np.diag(other_sd**2)) == pytest.approx(wanted)


def test_kl_equals_that_of_torch():
    one, other = gaussian(3), gaussian(4)
    wanted = kl_divergence(*(MultivariateNormal(torch.tensor(m), torch.tensor(c)) for m, c in (one, other)))
    assert Target(*other).kl(*one) == pytest.approx(wanted.item())


def test_kl_is_infinite_for_a_point_mass_and_for_a_singular_truth():
    mean, covariance = gaussian(5)
    assert Target(mean, covariance).kl(mean, np.zeros((DIM, DIM))) == np.inf
    assert Target(mean, np.zeros((DIM, DIM))).kl(mean, covariance) == np.inf


def test_everything_is_zero_at_the_truth_itself():
    target = Target(*gaussian(6))
    itself = target.mean, target.covariance
    assert target.relative_mean(target.mean) == target.relative_covariance(target.covariance) == 0
    assert target.kl(*itself) == pytest.approx(0, abs=1e-10)
    assert target.scaled_wasserstein(*itself) == pytest.approx(0, abs=1e-6)


def test_a_relative_distance_is_frobenius_over_frobenius():
    assert relative_distance(np.array([[3.0, 0.0], [0.0, 8.0]]), np.array([[0.0, 0.0], [0.0, 4.0]])) == 5 / 4


@pytest.mark.parametrize("rank", [2, DIM])
def test_draws_have_the_expected_sampling_noise(rank):
    mean, covariance = gaussian(3, rank)
    generator = np.random.default_rng(0)
    squares = [
        relative_distance(np.cov(generator.multivariate_normal(mean, covariance, 200).T), covariance) ** 2
        for _ in range(400)
    ]
    # The sum of squares of 400 repeats varies by a few per cent.
    assert np.sqrt(np.mean(squares)) == pytest.approx(sampling_noise(covariance, 200), rel=0.1)
