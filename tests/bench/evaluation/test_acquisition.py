"""Acquisition functions against dense computations, and against an oracle that knows the errors."""

import numpy as np
import pytest

from lockstep_bench.bench.evaluation.acquisition import at_random, by_bald, by_variance


def linear_draws(x, precision, generator):
    """Draws of x^T w with the exact covariance of the posterior N(0, precision^-1): the sample moments are exact."""
    dim = x.shape[1]
    factor = np.linalg.cholesky(np.linalg.inv(precision))
    whitened = np.vstack([np.eye(dim), -np.eye(dim)]) * np.sqrt(dim)  # mean 0, covariance I
    return whitened @ factor.T @ x.T


def test_bald_is_the_greedy_d_optimal_design_of_a_linear_model():
    """In each step the determinant of the posterior precision is computed for every remaining point."""
    generator = np.random.default_rng(0)
    x, noise = generator.normal(size=(40, 4)), generator.uniform(0.2, 2.0, size=40)
    precision = np.eye(4) + x[:3].T @ x[:3]
    chosen = by_bald(linear_draws(x, precision, generator), noise, 8, generator)
    expected = []
    for _ in range(8):
        gains = {
            point: np.linalg.slogdet(precision + np.outer(x[point], x[point]) / noise[point])[1]
            for point in range(40)
            if point not in expected
        }
        expected.append(max(gains, key=gains.get))
        precision = precision + np.outer(x[expected[-1]], x[expected[-1]]) / noise[expected[-1]]
    assert chosen.tolist() == expected


def test_variance_ranks_points_of_a_linear_model_by_leverage():
    generator = np.random.default_rng(1)
    x = generator.normal(size=(50, 5))
    precision = 0.5 * np.eye(5) + x[:8].T @ x[:8]
    leverage = np.einsum("ni,ij,nj->n", x, np.linalg.inv(precision), x)
    chosen = by_variance(linear_draws(x, precision, generator), np.ones(50), 10, generator)
    assert chosen.tolist() == np.argsort(-leverage)[:10].tolist()


def test_one_point_by_bald_has_the_largest_mutual_information():
    functions, noise = np.random.default_rng(2).normal(size=(30, 20)), np.linspace(0.1, 3, 20)
    information = 0.5 * np.log1p(functions.var(axis=0) / noise)
    assert by_bald(functions, noise, 1, np.random.default_rng(0))[0] == information.argmax()


def test_batch_by_bald_avoids_copies_of_a_point():
    """Two copies of the most uncertain point: variance takes both, BALD takes another one second."""
    generator = np.random.default_rng(3)
    free = generator.normal(size=(400, 3)) * [3.0, 2.0, 0.1]
    functions = free[:, [0, 0, 1, 2]]
    assert set(by_variance(functions, np.full(4, 0.1), 2, generator)) == {0, 1}
    assert set(by_bald(functions, np.full(4, 0.1), 2, generator)) in ({0, 2}, {1, 2})


@pytest.mark.parametrize("acquire", [at_random, by_variance, by_bald])
def test_single_function_chooses_at_random_without_repeats(acquire):
    counts = np.zeros(12)
    for seed in range(600):
        chosen = acquire(np.ones((1, 12)), np.ones(12), 4, np.random.default_rng(seed))
        assert len(set(chosen.tolist())) == 4
        counts[chosen] += 1
    assert counts == pytest.approx(np.full(12, 200), abs=50)


def squared_exponential(a, b):
    return np.exp(-0.5 * ((a[:, None] - b) / 0.3) ** 2)


def mean_and_covariance(x, y, at, noise):
    """The exact posterior of a Gaussian process at the points `at`."""
    inverse = np.linalg.inv(squared_exponential(x, x) + noise * np.eye(len(x)))
    cross = squared_exponential(at, x)
    return cross @ inverse @ y, squared_exponential(at, at) - cross @ inverse @ cross.T


def curve_of(policy, seed):
    """Mean RMSE over five batches of three points, where a third of the test points are rare in the pool."""
    generator = np.random.default_rng(seed)
    pool = np.concatenate([generator.uniform(-3, 0, 180), generator.uniform(0, 3, 20)])
    test, noise = np.linspace(-3, 3, 60), 0.01
    everywhere = np.concatenate([pool, test])
    covariance = squared_exponential(everywhere, everywhere) + 1e-9 * np.eye(260)
    truth = np.linalg.cholesky(covariance) @ generator.normal(size=260)
    y = truth[:200] + np.sqrt(noise) * generator.normal(size=200)
    known, errors = np.arange(5), []
    for _ in range(5):
        left = np.setdiff1d(np.arange(200), known)
        mean, between = mean_and_covariance(pool[known], y[known], pool[left], noise)
        if policy == "oracle":
            functions = np.stack([mean, 2 * truth[left] - mean])  # the spread is the true error
        else:
            draws = np.linalg.cholesky(between + 1e-9 * np.eye(len(left))) @ generator.normal(size=(len(left), 100))
            functions = mean + draws.T
        acquire = {"oracle": by_bald, "bald": by_bald, "variance": by_variance, "random": at_random}[policy]
        known = np.concatenate([known, left[acquire(functions, np.full(len(left), noise), 3, generator)]])
        predicted, _ = mean_and_covariance(pool[known], y[known], test, noise)
        errors.append(np.sqrt(np.mean((predicted - truth[200:]) ** 2)))
    return np.mean(errors)


@pytest.mark.parametrize("policy", ["oracle", "variance", "bald"])
def test_true_errors_and_exact_posteriors_beat_random_acquisition(policy):
    gains = [curve_of("random", seed) - curve_of(policy, seed) for seed in range(12)]
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(12)
