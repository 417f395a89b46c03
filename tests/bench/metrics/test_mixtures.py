"""Scores of mixtures of Student's t distributions and of weighted normals, against SciPy and numerical integration."""

import math
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from scipy import special, stats
from scipy.integrate import quad
from scipy.optimize import brentq

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import regression
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.bench.metrics.intervals import interval_scores, quantiles
from lockstep_bench.bench.metrics.mixtures import integral_of_spread
from lockstep_bench.bench.metrics.prediction_table import predictions_table
from lockstep_bench.leaderboards.stats import predictions as stored_predictions
from lockstep_bench.methods.maths.predictive import NormalMixtures, Normals, StudentT
from lockstep_bench.shared.schema import REGRESSION

N_POINTS = 3
Y = torch.tensor([0.4, -7.0, 12.0]).double()


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def students(n_samples: int = 4) -> StudentT:
    random = generator(n_samples)
    df, scale = random.uniform(2.1, 20, (n_samples, N_POINTS)), random.uniform(0.1, 4, (n_samples, N_POINTS))
    return StudentT(*map(torch.tensor, (df, random.normal(0, 5, (n_samples, N_POINTS)), scale)))


def normals(n_samples: int = 2, n_components: int = 3) -> NormalMixtures:
    random, shape = generator(n_samples), (n_samples, N_POINTS, n_components)
    log_weights = torch.tensor(random.normal(0, 2, shape)).log_softmax(-1)
    return NormalMixtures(log_weights, *map(torch.tensor, (random.normal(0, 5, shape), random.uniform(0.01, 9, shape))))


def of_samples(predictive, point: int) -> list[tuple[np.ndarray, list]]:
    """Return the weights and SciPy's distributions of each sample's components at a point."""
    parts = [part[:, point].numpy() for part in predictive]
    if isinstance(predictive, StudentT):
        return [(np.ones(1), [stats.t(*numbers)]) for numbers in zip(*parts, strict=True)]
    weights, means, sds = np.exp(parts[0]), parts[1], np.sqrt(parts[2])
    return [(weights[s], [stats.norm(*pair) for pair in zip(means[s], sds[s], strict=True)]) for s in range(len(means))]


def expected(predictive, point: int, function: str, y: float) -> np.ndarray:
    """Return SciPy's `function` at y of each sample's mixture at a point, (S,)."""
    samples = of_samples(predictive, point)
    return np.array([weights @ [getattr(each, function)(y) for each in components] for weights, components in samples])


ALL = pytest.mark.parametrize(
    "predictive", [students(2), students(), normals(1), normals()], ids=["t-2", "t-4", "normals-1", "normals-2"]
)


@ALL
def test_mixture_density_and_cdf_equal_scipy(predictive):
    found = {"cdf": regression.cdf(predictive, Y), "pdf": regression.log_density(predictive, Y).exp()}
    for function, values in found.items():
        exact = [expected(predictive, point, function, y).mean() for point, y in enumerate(Y.tolist())]
        np.testing.assert_allclose(values, exact, rtol=1e-10)
    assert metrics.nmll(predictive, Y) == pytest.approx(-found["pdf"].log().mean().item())


@ALL
def test_joint_density_multiplies_points_within_each_sample(predictive):
    each = np.array([expected(predictive, point, "pdf", y) for point, y in enumerate(Y.tolist())])
    joint = np.log(each.prod(0).mean())
    assert regression.joint_nmll(predictive, Y) == pytest.approx(-joint / N_POINTS)
    assert metrics.expected_log_density(predictive, Y) == pytest.approx(np.log(each).mean())


@ALL
def test_mixture_moments_follow_from_the_components(predictive):
    matched = regression.moments(predictive)
    for point in range(N_POINTS):
        samples = of_samples(predictive, point)
        weights = np.concatenate([weights for weights, _ in samples]) / len(samples)
        means, variances = np.array([each.stats("mv") for _, parts in samples for each in parts], float).T
        mean = weights @ means
        assert matched.mean[point].item() == pytest.approx(mean)
        assert matched.variance[point].item() == pytest.approx(weights @ (variances + means**2) - mean**2)


@ALL
def test_mixture_quantiles_are_roots_of_the_cdf(predictive):
    levels = np.array([0.025, 0.4, 0.95])
    each_its_own = distribution_of(predictive).quantile(levels)
    for point, level in enumerate(levels):
        exact = brentq(lambda y: expected(predictive, point, "cdf", y).mean() - level, -300, 300, xtol=1e-12)  # noqa: B023
        assert quantiles(predictive, level)[0, point] == pytest.approx(exact, abs=1e-8)
        assert each_its_own[point] == pytest.approx(exact, abs=1e-8)


@ALL
@pytest.mark.parametrize("point", range(N_POINTS))
def test_crps_equals_the_integral_of_squared_cdf_differences(predictive, point):
    y, found = Y[point].item(), regression.crps(predictive, Y)[point].item()

    parts = [part[:, point].numpy() for part in predictive]

    def square(t: float) -> float:
        sign = 1 if t < y else -1  # F^2 below y, and (1 - F)^2 above it
        if isinstance(predictive, StudentT):
            return float(special.stdtr(parts[0], sign * (t - parts[1]) / parts[2]).mean() ** 2)
        below = special.ndtr(sign * (t - parts[1]) / np.sqrt(parts[2]))
        return float((np.exp(parts[0]) * below).sum(1).mean() ** 2)

    ends = sorted([-np.inf, -3000, -300, -30, -12, -4, 0, 4, 12, 30, 300, 3000, np.inf, y])
    assert found == pytest.approx(sum(quad(square, *piece, limit=200)[0] for piece in pairwise(ends)), rel=2e-6)


@pytest.mark.parametrize("df", [2.01, 2.1, 4.0, 1e6])
@pytest.mark.parametrize("apart", [0.0, 1.0, 1000.0])
def test_two_component_expected_distance_equals_quadrature(df, apart):
    """E|Y - Y'| / 2 is half of E|T - T'| / 2 and of E|T - T' + apart| / 2, by integrals over the closed form of one."""
    constant = math.exp(special.gammaln((df + 1) / 2) - special.gammaln(df / 2)) / math.sqrt(df * math.pi)

    def density(z: float) -> float:
        return constant * math.exp(-(df + 1) / 2 * math.log1p(z**2 / df))

    def absolute(z: float) -> float:  # E|T - z|
        return z * (2 * special.stdtr(df, z) - 1) + 2 * density(z) * (df + z**2) / (df - 1)

    ends = [-np.inf, -1e3, -30.0, -3.0, 0.0, 3.0, 30.0, 1e3, np.inf]
    together, distant = (
        sum(
            quad(lambda z: density(z) * absolute(z + shift), low, high, limit=200, epsabs=1e-12)[0]  # noqa: B023
            for low, high in pairwise(ends)
        )
        for shift in (0.0, apart)
    )
    found = integral_of_spread(np.full(2, df), np.array([7.0, 7 + 3 * apart]), np.full(2, 3.0))
    assert found == pytest.approx(3 * (together + distant) / 4, rel=2e-6)


def test_mixture_of_equal_components_scores_as_one_component():
    single = StudentT(*(part[:1] for part in students()))
    doubled = StudentT(*(torch.cat([part, part]) for part in single))
    scores = metrics.evaluate(single, Y, 2.0)
    assert metrics.evaluate(doubled, Y, 2.0) == pytest.approx(scores, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("n_samples", [1, 4])
def test_student_t_mixture_with_many_degrees_is_gaussian(n_samples):
    _, location, scale = students(n_samples)
    ours = metrics.evaluate(StudentT(torch.full_like(scale, 1e9), location, scale), Y, 2.0)
    assert ours == pytest.approx(metrics.evaluate(Normals(location, scale**2), Y, 2.0), rel=1e-6)


def test_equally_weighted_normals_score_as_sampled_normals():
    log_weights, means, variances = normals(1, 4)
    ours = metrics.evaluate(NormalMixtures(torch.full_like(log_weights, 0.25).log(), means, variances), Y, 2.0)
    flat = Normals(means[0].T, variances[0].T)
    assert ours == pytest.approx(metrics.evaluate(flat, Y, 2.0), rel=1e-9)


@ALL
def test_interval_score_equals_pinball_loss_of_both_ends(predictive):
    for percent, score in interval_scores(predictive, Y.numpy(), (50, 95)).items():
        tail = (1 - percent / 100) / 2
        errors = [(level, Y.numpy() - quantiles(predictive, level)[0]) for level in (tail, 1 - tail)]
        pinball = sum(np.maximum(level * error, (level - 1) * error).mean() for level, error in errors)
        assert score == pytest.approx(pinball / tail, rel=1e-10)


@ALL
def test_all_regression_metrics_are_finite(predictive):
    found = metrics.evaluate(predictive, Y, 2.0)
    assert set(found) == {"nmll", *REGRESSION}
    assert all(math.isfinite(value) for value in found.values())


@ALL
def test_metrics_scale_with_the_target_units(predictive):
    names = ["location", "scale"] if isinstance(predictive, StudentT) else ["means", "variances"]
    location, scale = (getattr(predictive, name) for name in names)
    wider = 100 * scale if names[1] == "scale" else 100**2 * scale
    moved = predictive._replace(**{names[0]: 100 * location - 30, names[1]: wider})
    ours, theirs = metrics.evaluate(predictive, Y, 2.0), metrics.evaluate(moved, 100 * Y - 30, 200.0)
    assert theirs["nmll"] == pytest.approx(ours["nmll"] + math.log(100))
    for name in ("rmse", "crps", "interval_score_90"):
        assert theirs[name] == pytest.approx(100 * ours[name])
    for name in ("coverage_80", "pit_p_value", "nmll_standardised", "rmse_standardised"):
        assert theirs[name] == pytest.approx(ours[name])


@ALL
def test_stored_predictions_give_the_same_scores(predictive, tmp_path):
    table = predictions_table(predictive, np.arange(N_POINTS), Y, ood=predictive)
    stored = {name: np.array(table[name].to_pylist()[:N_POINTS], float) for name in predictive._fields}
    n_samples = len(predictive[0])
    if isinstance(predictive, NormalMixtures):
        n_samples = round(float(np.exp(stored["log_weights"][0]).sum()))
        parts = [torch.tensor(part.reshape(N_POINTS, n_samples, -1)).transpose(0, 1) for part in stored.values()]
    else:
        parts = [torch.tensor(part.T) for part in stored.values()]
    assert n_samples == len(predictive[0])
    again = type(predictive)(*parts)
    assert metrics.evaluate(again, Y, 2.0) == pytest.approx(metrics.evaluate(predictive, Y, 2.0), rel=1e-5)
    assert regression.joint_nmll(again, Y) == pytest.approx(regression.joint_nmll(predictive, Y), rel=1e-5)
    assert table["nll"].to_pylist()[:N_POINTS] == pytest.approx((-regression.log_density(predictive, Y)).tolist())

    pq.write_table(table, tmp_path / "predictions.parquet")
    read = stored_predictions.read(tmp_path / "predictions.parquet")
    np.testing.assert_allclose(stored_predictions.pit(read)[:N_POINTS], regression.cdf(predictive, Y))
    mean, variance = stored_predictions.moments(read)
    matched = regression.moments(predictive)
    np.testing.assert_allclose(mean[:N_POINTS], matched.mean, rtol=1e-6)
    np.testing.assert_allclose(variance[:N_POINTS], matched.variance, rtol=1e-6)


@pytest.mark.parametrize(
    ("predictive", "message"),
    [
        (students()._replace(df=torch.full((4, N_POINTS), 2.0)), "`df` of StudentT must be above 2"),
        (
            normals()._replace(log_weights=torch.zeros(2, N_POINTS, 3)),
            r"the weights exp\(log_weights\) of NormalMixtures must sum",
        ),
        (normals()._replace(variances=torch.zeros(2, N_POINTS, 3)), "`variances` of NormalMixtures must be above 0"),
    ],
)
def test_invalid_mixtures_are_refused(predictive, message):
    with pytest.raises(metrics.NoDistribution, match=message):
        metrics.nmll(predictive, Y)
    assert metrics.flaw(predictive)


def test_error_describes_invalid_mixture_parameters():
    lost = normals()._replace(means=torch.full((2, N_POINTS, 3), float("nan")))
    assert metrics.flaw(lost) == "means is NaN at 3 of 3 test points"
