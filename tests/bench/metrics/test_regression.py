"""Metrics of regression against scipy, numerical integration and exact decimal arithmetic."""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics.regression import INTERVALS, cdf, crps
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.shared.schema import REGRESSION

CASES = [(1, 1, 0), (1, 6, 1), (2, 6, 2), (7, 6, 3)]  # S, n, seed


def random_case(n_samples: int, n_points: int, seed: int) -> tuple[Normals, torch.Tensor]:
    """A mixture at each point with components that overlap in part, and targets in the bulk and in the tails."""
    generator = np.random.default_rng(seed)
    mean = generator.normal(3, 2, (n_samples, n_points))
    variance = generator.uniform(0.1, 4, (n_samples, n_points))
    y = generator.normal(3, 4, n_points)
    return Normals(torch.tensor(mean), torch.tensor(variance)), torch.tensor(y)


@pytest.fixture(params=CASES, ids=lambda case: f"S={case[0]},n={case[1]}")
def case(request):
    return random_case(*request.param)


def numpy_parts(predictive: Normals) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations, (S, n)."""
    return predictive.mean.numpy(), np.sqrt(predictive.variance.numpy())


def test_evaluate_returns_regression_metrics_only(case):
    assert set(metrics.evaluate(*case, y_scale=2.0)) == {"nmll", *REGRESSION}


def test_every_metric_is_a_finite_python_float(case):
    for value in metrics.evaluate(*case, y_scale=2.0).values():
        assert type(value) is float
        assert math.isfinite(value)


def test_nmll_averages_negative_log_mean_density(case):
    predictive, y = case
    mean, sd = numpy_parts(predictive)
    density = norm.pdf(y.numpy(), mean, sd).mean(axis=0)
    assert metrics.nmll(predictive, y) == pytest.approx(-np.log(density).mean(), rel=1e-12)
    np.testing.assert_allclose(metrics.log_density(predictive, y), np.log(density), rtol=1e-12)


def test_joint_nmll_uses_the_joint_density_of_points(case):
    predictive, y = case
    mean, sd = numpy_parts(predictive)
    joint = norm.pdf(y.numpy(), mean, sd).prod(axis=1).mean()
    assert metrics.diagnostics(predictive, y) == pytest.approx({"nmll_joint": -np.log(joint) / len(y)}, rel=1e-12)


@pytest.mark.parametrize("y", [60.0, -500.0, 1e4])
def test_nmll_is_exact_where_the_density_underflows(y):
    mean, variance = [0.0, 1.5, -0.5], [0.25, 1.0, 2.25]
    with localcontext(Context(prec=50, Emin=-(10**9))):
        density = sum(
            (-((Decimal(y) - Decimal(m)) ** 2) / (2 * Decimal(v))).exp() / Decimal(2 * math.pi * v).sqrt()
            for m, v in zip(mean, variance, strict=True)
        ) / len(mean)
        exact = float(-density.ln())
    assert float(density) == 0
    predictive = Normals(torch.tensor(mean)[:, None], torch.tensor(variance)[:, None])
    assert metrics.nmll(predictive, torch.tensor([y])) == pytest.approx(exact, rel=1e-12)


def test_single_precision_samples_are_scored_in_double_precision():
    generator = torch.Generator().manual_seed(0)
    mean = 1000 + torch.randn(50, 20, generator=generator)
    variance = torch.full_like(mean, 1e-2)
    y = mean[0].double()
    exact = norm.pdf(y.numpy(), mean.double().numpy(), np.sqrt(variance.double().numpy())).mean(axis=0)
    assert metrics.nmll(Normals(mean, variance), y) == pytest.approx(-np.log(exact).mean(), rel=1e-12)


def test_nmll_moment_scores_the_moment_matched_gaussian(case):
    predictive, y = case
    mean, sd = numpy_parts(predictive)
    first, second = mean.mean(axis=0), (sd**2 + mean**2).mean(axis=0)
    expected = -norm.logpdf(y.numpy(), first, np.sqrt(second - first**2)).mean()
    assert metrics.evaluate(predictive, y, 1.0)["nmll_moment"] == pytest.approx(expected, rel=1e-10)


def test_single_gaussian_equals_its_moment_match():
    found = metrics.evaluate(*random_case(1, 9, 4), y_scale=3.0)
    assert found["nmll"] == pytest.approx(found["nmll_moment"], rel=1e-12)
    assert found["nmll_standardised"] == pytest.approx(found["nmll_moment_standardised"], rel=1e-12)


@pytest.mark.parametrize("scale", [0.0147, 1.0, 37.5])
def test_standardised_metrics_divide_everything_by_the_scale(case, scale):
    predictive, y = case
    smaller = Normals(predictive.mean / scale, predictive.variance / scale**2)
    found, expected = metrics.evaluate(predictive, y, scale), metrics.evaluate(smaller, y / scale, 1.0)
    for name in ("nmll", "nmll_moment", "rmse"):
        assert found[f"{name}_standardised"] == pytest.approx(expected[name], rel=1e-9, abs=1e-9)
    assert found["crps"] == pytest.approx(expected["crps"] * scale, rel=1e-9)
    for level in INTERVALS:
        assert found[f"coverage_{level}"] == expected[f"coverage_{level}"]


def test_rmse_uses_the_mean_over_samples(case):
    predictive, y = case
    expected = np.sqrt(np.mean((predictive.mean.numpy().mean(axis=0) - y.numpy()) ** 2))
    assert metrics.evaluate(predictive, y, 4.0)["rmse"] == pytest.approx(expected, rel=1e-12)


def test_cdf_is_the_integral_of_the_density():
    predictive, y = random_case(3, 4, 5)
    mean, sd = numpy_parts(predictive)
    for i, upper in enumerate(y.tolist()):
        lowest = min((mean - 12 * sd).min(), upper - 1)
        peaks = [m for m in mean[:, i] if lowest < m < upper]
        mixture = mean[:, i], sd[:, i]
        exact, _ = quad(lambda x, m, s: norm.pdf(x, m, s).mean(), lowest, upper, mixture, points=peaks, epsabs=1e-11)
        assert cdf(predictive, y)[i].item() == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize(("n_samples", "seed"), [(1, 6), (2, 7), (5, 8)])
def test_crps_equals_integral_of_squared_cdf_distance(n_samples, seed):
    """CRPS = int (F(x) - 1{y <= x})^2 dx."""
    predictive, y = random_case(n_samples, 4, seed)
    mean, sd = numpy_parts(predictive)
    for i, target in enumerate(y.tolist()):
        m, s = mixture = mean[:, i], sd[:, i]
        below, above = min(target, (m - 12 * s).min()), max(target, (m + 12 * s).max())
        left, _ = quad(lambda x, m, s: norm.cdf(x, m, s).mean() ** 2, below, target, mixture, epsabs=1e-10)
        right, _ = quad(lambda x, m, s: norm.sf(x, m, s).mean() ** 2, target, above, mixture, epsabs=1e-10)
        assert crps(predictive, y)[i].item() == pytest.approx(left + right, abs=1e-8)


def test_crps_of_one_gaussian_has_closed_form():
    """sd (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)), z = (y - m) / sd: Gneiting and Raftery 2007, eq. 21."""
    predictive, y = random_case(1, 50, 9)
    (mean,), (sd,) = numpy_parts(predictive)
    z = (y.numpy() - mean) / sd
    expected = sd * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    np.testing.assert_allclose(crps(predictive, y), expected, rtol=1e-10)
    np.testing.assert_allclose(crps(Normals(*(part.expand(4, 50) for part in predictive)), y), expected)


def test_crps_of_point_masses_is_the_ensemble_crps():
    """With vanishing variances it is the mean of |m_s - y| less half the mean of |m_s - m_t| over all pairs."""
    mean = torch.tensor([[0.0], [1.0], [4.0]], dtype=torch.float64)
    found = crps(Normals(mean, torch.full_like(mean, 1e-18)), torch.tensor([2.0], dtype=torch.float64))
    assert found.item() == pytest.approx((2 + 1 + 2) / 3 - 0.5 * 2 * (1 + 3 + 4) / 9, abs=1e-8)


def test_coverage_counts_targets_between_mixture_quantiles():
    predictive, y = random_case(3, 40, 10)
    mean, sd = numpy_parts(predictive)
    found = metrics.evaluate(predictive, y, 1.0)
    for level in INTERVALS:
        inside = 0
        for m, s, target in zip(mean.T, sd.T, y.tolist(), strict=True):
            low, high = (
                brentq(lambda x, m=m, s=s, p=p: norm.cdf(x, m, s).mean() - p, (m - 9 * s).min(), (m + 9 * s).max())
                for p in (0.5 - level / 200, 0.5 + level / 200)
            )
            inside += low <= target <= high
        assert found[f"coverage_{level}"] == inside / 40
    assert 0 < found["coverage_50"] < found["coverage_95"] < 1  # else the case shows nothing


def test_coverage_of_a_calibrated_predictive_is_nominal():
    """Targets drawn from the predictive itself: a binomial fraction, checked at four standard errors."""
    generator = np.random.default_rng(11)
    n, mean = 20_000, np.array([[-2.0], [0.5], [3.0]])
    y = generator.normal(mean[generator.integers(3, size=n), 0], 0.7)
    predictive = Normals(torch.tensor(mean).expand(3, n), torch.full((3, n), 0.49, dtype=torch.float64))
    found = metrics.evaluate(predictive, torch.tensor(y), 1.0)
    for level in (50, 80, 90, 95):
        p = level / 100
        assert found[f"coverage_{level}"] == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / n))


def test_metrics_are_invariant_to_sample_and_point_order():
    predictive, y = random_case(5, 8, 12)
    shuffled = Normals(*(part.roll((2, 3), (0, 1)) for part in predictive))
    assert metrics.evaluate(shuffled, y.roll(3), 2.0) == pytest.approx(metrics.evaluate(predictive, y, 2.0), rel=1e-12)
