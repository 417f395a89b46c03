"""Scores of Student's t, quantiles and histograms against SciPy and numerical integration."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import regression
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.bench.metrics.intervals import quantiles
from lockstep_bench.bench.metrics.prediction_table import predictions_table
from lockstep_bench.methods.maths.predictive import Histogram, Quantiles, StudentT
from lockstep_bench.shared.schema import REGRESSION

LEVELS = np.array([0.05, 0.3, 0.5, 0.9])
VALUES = np.array([[-2.0, 0.0, 1.0, 5.0], [10.0, 10.5, 12.0, 12.1]])
EDGES = np.array([-1.0, 0.0, 2.0, 5.0])
PROBABILITIES = np.array([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])


def tensors(*arrays) -> list[torch.Tensor]:
    return [torch.tensor(array, dtype=torch.float64) for array in arrays]


def student() -> StudentT:
    return StudentT(*(part[None] for part in tensors([2.5, 30.0], [1.0, -3.0], [0.5, 4.0])))


def by_quantiles() -> Quantiles:
    return Quantiles.of(*tensors(LEVELS, VALUES))


def histogram() -> Histogram:
    return Histogram.of(*tensors(EDGES, PROBABILITIES))


ALL = pytest.mark.parametrize("make", [student, by_quantiles, histogram])
INSIDE = [torch.tensor([0.7, 11.0]).double(), torch.tensor([-3.5, 9.0]).double(), torch.tensor([7.0, 13.0]).double()]


def densities(predictive, point: int):
    """Return the density of one point as a function of y."""

    def density(y: float) -> float:
        at = torch.full((2,), float(y), dtype=torch.float64)
        return regression.log_density(predictive, at)[point].exp().item()

    return density


def kinks(predictive, point: int) -> list[float]:
    knots = {Quantiles: VALUES, Histogram: np.tile(EDGES, (2, 1))}.get(type(predictive))
    # An interval of its own around the outer knots, near which tails may be short.
    return [] if knots is None else [knots[point][0] - 1, *knots[point], knots[point][-1] + 1]


def integral(function, predictive, point: int, low: float, high: float) -> float:
    """Return the integral between quantiles, in pieces without a jump."""
    ends = sorted({low, high, *(knot for knot in kinks(predictive, point) if low < knot < high)})
    return sum(quad(function, *pair, limit=200)[0] for pair in pairwise(ends))


@ALL
@pytest.mark.parametrize("point", [0, 1])
def test_density_cdf_and_quantiles_are_consistent(make, point):
    predictive = make()
    ends = quantiles(predictive, 1e-4, 0.2, 0.72, 1 - 1e-4)[:, point]
    for (low, p), (high, q) in [((ends[0], 1e-4), (ends[1], 0.2)), ((ends[1], 0.2), (ends[3], 1 - 1e-4))]:
        assert integral(densities(predictive, point), predictive, point, low, high) == pytest.approx(q - p, abs=1e-6)
    for level, end in zip((1e-4, 0.2, 0.72, 1 - 1e-4), ends, strict=True):
        below = regression.cdf(predictive, torch.full((2,), end, dtype=torch.float64))
        assert below[point].item() == pytest.approx(level, abs=1e-9)


@ALL
@pytest.mark.parametrize("point", [0, 1])
def test_moments_equal_numerical_integrals(make, point):
    predictive, matched = make(), regression.moments(make())
    if isinstance(predictive, StudentT):
        mean, variance = stats.t.stats([2.5, 30.0], [1.0, -3.0], [0.5, 4.0])
    else:
        density = densities(predictive, point)
        low, high = quantiles(predictive, 1e-13, 1 - 1e-13)[:, point]
        first = integral(lambda y: y * density(y), predictive, point, low, high)
        second = integral(lambda y: (y - first) ** 2 * density(y), predictive, point, low, high)
        mean, variance = {point: first}, {point: second}
    assert matched.mean[point].item() == pytest.approx(mean[point], rel=1e-6)
    assert matched.variance[point].item() == pytest.approx(variance[point], rel=1e-6)


@ALL
@pytest.mark.parametrize("y", INSIDE, ids=["inside", "below", "above"])
@pytest.mark.parametrize("point", [0, 1])
def test_crps_equals_the_integral_of_squared_cdf_differences(make, y, point):
    predictive = make()

    def below(t: float) -> float:
        return regression.cdf(predictive, torch.full((2,), float(t), dtype=torch.float64))[point].item()

    target, far = y[point].item(), 4000.0 if isinstance(predictive, StudentT) else 300.0
    expected = integral(lambda t: below(t) ** 2, predictive, point, -far, target)
    expected += integral(lambda t: (1 - below(t)) ** 2, predictive, point, target, far)
    assert regression.crps(predictive, y)[point].item() == pytest.approx(expected, rel=1e-5)


def test_student_t_density_equals_scipy():
    y = torch.tensor([0.7, 11.0]).double()
    expected = stats.t.logpdf(y.numpy(), [2.5, 30.0], [1.0, -3.0], [0.5, 4.0])
    np.testing.assert_allclose(regression.log_density(student(), y), expected)
    assert metrics.nmll(student(), y) == pytest.approx(-expected.mean())


def test_histogram_density_equals_scipy():
    expected = [stats.rv_histogram((row, EDGES), density=False) for row in PROBABILITIES]
    y = torch.tensor([1.5, 3.0]).double()
    for point, distribution in enumerate(expected):
        ours = regression.log_density(histogram(), y)[point].exp().item()
        assert ours == pytest.approx(distribution.pdf(y[point].item()))
        assert regression.moments(histogram()).variance[point].item() == pytest.approx(distribution.var())


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (student, stats.t.ppf([0.1, 0.8], [2.5, 30.0], [1.0, -3.0], [0.5, 4.0])),
        (by_quantiles, [-2 + 2 * (0.1 - 0.05) / (0.3 - 0.05), 12 + 0.1 * (0.8 - 0.5) / (0.9 - 0.5)]),
        (histogram, [-1 + 0.1 / 0.2, 2 + 3 * (0.8 - 0.6) / 0.4]),
    ],
)
def test_quantile_levels_can_differ_by_point(make, expected):
    np.testing.assert_allclose(distribution_of(make()).quantile(np.array([0.1, 0.8])), expected, rtol=1e-12)


def test_quantile_predictive_returns_its_given_quantiles():
    for level, column in zip(LEVELS, VALUES.T, strict=True):
        np.testing.assert_allclose(quantiles(by_quantiles(), level)[0], column, atol=1e-12)


def test_quantile_predictive_density_is_continuous_at_tails():
    for end in (0, -1):
        at = torch.tensor(VALUES[:, end])
        near = [regression.log_density(by_quantiles(), at + step) for step in (-1e-9, 1e-9)]
        torch.testing.assert_close(*near, rtol=0, atol=1e-6)


def test_target_outside_all_bins_has_infinite_nmll():
    assert metrics.nmll(histogram(), torch.tensor([1.0, 5.5]).double()) == math.inf
    assert math.isfinite(regression.crps(histogram(), torch.tensor([1.0, 5.5]).double()).sum())


@ALL
def test_all_regression_metrics_are_finite(make):
    found = metrics.evaluate(make(), torch.tensor([0.7, 4.0]).double(), 2.0)
    assert set(found) == {"nmll", *REGRESSION}
    assert all(math.isfinite(value) for value in found.values())


@ALL
def test_predictions_table_holds_moments_pit_and_parameters(make):
    predictive, y = make(), torch.tensor([0.7, 4.0]).double()
    table = predictions_table(predictive, np.array([5, 7]), y, ood=make())
    stored = table.to_pydict()
    np.testing.assert_allclose(stored["pit"][:2], regression.cdf(predictive, y))
    np.testing.assert_allclose(np.ravel(stored["mean"]), np.tile(regression.moments(predictive).mean, 2), rtol=1e-6)
    assert stored["pit"][2:] == [None, None]
    for name, part in predictive._asdict().items():
        np.testing.assert_allclose(stored[name][:2], part[0].reshape(2, -1), rtol=1e-6)


@pytest.mark.parametrize(
    ("predictive", "message"),
    [
        (Quantiles(*torch.ones(2, 5, 2, 3)), "holds one distribution per point and got 5; ensembles and mixtures need"),
        (StudentT(*torch.ones(3, 1, 2)), "`df` of StudentT must be above 2"),
        (StudentT(torch.full((1, 2), 3.0), *torch.zeros(2, 1, 2)), "`scale` of StudentT must be above 0"),
        (Quantiles.of(torch.tensor([0.5]), torch.ones(2, 1)), "needs at least 2 levels and got 1"),
        (Quantiles.of(torch.tensor([0.0, 0.5]), torch.tensor([[1.0, 2.0]])), "must increase between 0 and 1"),
        (
            Quantiles.of(torch.tensor([0.2, 0.5]), torch.tensor([[1.0, 1.0]])),
            "must increase strictly, or the density is",
        ),
        (Histogram.of(torch.tensor([0.0, 0.0]), torch.ones(2, 1)), "`edges` of Histogram must increase strictly"),
        (Histogram.of(torch.tensor([0.0, 1.0]), torch.ones(2, 1) / 2), "a sum is off by 5.0e-01"),
        (Histogram.of(torch.arange(3.0), torch.tensor([[2.0, -1.0]])), "must be at least 0"),
    ],
)
def test_invalid_distributions_are_refused(predictive, message):
    with pytest.raises(ValueError, match=message):
        distribution_of(predictive)


@pytest.mark.parametrize("empty", [[0], [4], [9, 10], [0, 4, 10]], ids=str)
def test_empty_bins_have_zero_density(empty):
    """The share of each bin over its width, wherever the empty ones are."""
    n_bins = 11
    probabilities = torch.full((1, n_bins), 0.1, dtype=torch.float32)
    probabilities[0, empty] = 0
    probabilities /= probabilities.sum()
    middles = np.arange(n_bins) + 0.5
    found = [
        distribution_of(Histogram.of(torch.arange(n_bins + 1.0), probabilities)).log_densities(np.array([middle]))[0, 0]
        for middle in middles
    ]
    with np.errstate(divide="ignore"):
        expected = np.log(probabilities[0].double().numpy() / probabilities[0].double().sum().item())
    np.testing.assert_allclose(found, expected, rtol=1e-9)
