"""Quantiles and interval scores of mixtures, against scipy, scikit-learn and closed forms."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import mean_pinball_loss

from lockstep_bench.bench.metrics.intervals import interval_scores, quantiles
from lockstep_bench.methods.maths.predictive import Normals

LEVELS = (0.025, 0.1, 0.45, 0.975)


def mixture(n_samples: int, n_points: int, seed: int) -> Normals:
    generator = np.random.default_rng(seed)
    mean = generator.normal(3, 20, (n_samples, n_points))
    return Normals(torch.tensor(mean), torch.tensor(generator.uniform(1e-4, 9, (n_samples, n_points))))


@pytest.mark.parametrize("n_samples", [1, 2, 9])
def test_mixture_quantiles_are_roots_of_the_cdf(n_samples):
    predictive = mixture(n_samples, 5, n_samples)
    found = quantiles(predictive, *LEVELS)
    for point, (mean, variance) in enumerate(zip(predictive.mean.T, predictive.variance.T, strict=True)):
        m, sd = mean.numpy(), variance.sqrt().numpy()
        for level, quantile in zip(LEVELS, found[:, point], strict=True):
            exact = brentq(lambda x, p=level, m=m, sd=sd: norm.cdf(x, m, sd).mean() - p, -200, 200, xtol=1e-12)
            assert quantile == pytest.approx(exact, abs=1e-8)


def test_quantiles_of_several_levels_equal_those_of_each(monkeypatch):
    predictive = mixture(3, 7, 1)
    together = quantiles(predictive, *LEVELS)
    np.testing.assert_array_equal(together, np.concatenate([quantiles(predictive, level) for level in LEVELS]))
    monkeypatch.setattr("lockstep_bench.bench.metrics.intervals.NUMBERS_AT_ONCE", 50)  # two levels
    np.testing.assert_array_equal(together, quantiles(predictive, *LEVELS))


def test_float32_quantiles_far_from_zero_are_accurate():
    predictive = Normals(torch.tensor([[1e6]]), torch.tensor([[1e-4]]))
    assert quantiles(predictive, 0.975)[0, 0] == pytest.approx(norm.ppf(0.975, 1e6, 1e-2), abs=1e-6)


@pytest.mark.parametrize("n_samples", [1, 3])
@pytest.mark.parametrize(("mean", "variance"), [(1e30, 1e-30), (-3e38, 3e38), (0.0, 1e-38), (5.0, 3e38)])
def test_mixtures_with_extreme_components_have_quantiles(mean, variance, n_samples):
    """A fit that diverged may predict them."""
    predictive = Normals(torch.full((n_samples, 1), mean), torch.full((n_samples, 1), variance))
    expected = norm.ppf(0.1, mean, np.sqrt(variance))
    assert quantiles(predictive, 0.1)[0, 0] == pytest.approx(expected, rel=1e-6)


def test_interval_score_equals_pinball_loss_of_both_ends():
    """Gneiting and Raftery 2007: 2 / alpha times the sum of both quantile scores."""
    predictive, y = mixture(4, 60, 0), np.random.default_rng(1).normal(3, 20, 60)
    for percent, score in interval_scores(predictive, y, (50, 90)).items():
        tail = (1 - percent / 100) / 2
        low, high = quantiles(predictive, tail, 1 - tail)
        pinball = mean_pinball_loss(y, low, alpha=tail) + mean_pinball_loss(y, high, alpha=1 - tail)
        assert score == pytest.approx(pinball / tail, rel=1e-10)


def test_true_gaussian_has_the_known_expected_interval_score():
    """4 sd phi(z) / alpha for the interval between the quantiles -z and z."""
    n, sd = 100_000, 2.5
    y = np.random.default_rng(2).normal(0, sd, n)
    predictive = Normals(torch.zeros(1, n), torch.full((1, n), sd**2))
    for percent, score in interval_scores(predictive, y, (50, 95)).items():
        alpha = 1 - percent / 100
        assert score == pytest.approx(4 * sd * norm.pdf(norm.ppf(alpha / 2)) / alpha, rel=0.01)


def test_interval_score_of_covered_targets_is_the_width():
    predictive = Normals(torch.zeros(1, 3), torch.ones(1, 3))
    (score,) = interval_scores(predictive, np.array([0.0, 0.1, -0.2]), (80,)).values()
    assert score == pytest.approx(2 * norm.ppf(0.9))
