"""Density, quantiles and CRPS of predictive distributions of a regression that are not mixtures of normals.

This module has distributions with a single component per point: Student's t, quantiles, histograms.
`bench.metrics.mixtures` has mixtures of Student's t distributions and of weighted normals.

All are scored in float64, in original target units, by the metrics of `bench.metrics.regression`.
"""

from typing import Protocol

import numpy as np
from scipy import special

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.mixtures import NormalMixture, StudentTMixture, t_log_density
from lockstep_bench.methods.maths.predictive import Histogram, NormalMixtures, Quantiles, StudentT

Described = NormalMixtures | StudentT | Quantiles | Histogram
SUM_TOLERANCE = 1e-4  # of the sum of probabilities and weights, in single precision; they are divided by their sum


class Distribution(Protocol):
    """Interface of predictive distributions at n points, one for each point.

    Targets y and results have the shape (n,) and original target units, if nothing else is said.

    Attributes:
        mean: (n,), means.
        variance: (n,), variances.
    """

    mean: np.ndarray
    variance: np.ndarray

    def log_densities(self, y: np.ndarray) -> np.ndarray:
        """Return log p_s(y) of each sample s at each point, (S, n), nats; minus infinity where the density is 0."""

    def cdf(self, y: np.ndarray) -> np.ndarray:
        """Return the distribution function P(Y <= y) at each point, (n,)."""

    def quantile(self, level: float | np.ndarray) -> np.ndarray:
        """Return the quantile at each point, (n,), for one probability between 0 and 1, or for one per point."""

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the continuous ranked probability score (CRPS) at each point, (n,).

        The CRPS is the integral of (F(t) - 1{t >= y})^2 over t.
        """


def distribution_of(predictive: Described) -> Distribution:
    """Return the distribution that a predictive describes.

    Raises:
        TypeError: the predictive has another type.
        ValueError: the predictive has wrong shapes, or several samples although its type cannot be pooled.
        bench.metrics.checks.NoDistribution: the numbers describe no distribution with a density and a variance. It is a
            ValueError.
    """
    checks.predictive(predictive, NormalMixtures, StudentT, Quantiles, Histogram)
    parts = [part.double().cpu().numpy() for part in predictive]
    if isinstance(predictive, StudentT):
        return _student_t(*parts)
    if isinstance(predictive, NormalMixtures):
        return _normal_mixture(*parts)
    name = type(predictive).__name__
    if len(parts[0]) != 1:
        raise ValueError(
            f"{name} holds one distribution per point and got {len(parts[0])}; ensembles and mixtures need Normals, "
            "NormalMixtures or StudentT"
        )
    first, second = (part[0] for part in parts)
    return _of_quantiles(first, second) if isinstance(predictive, Quantiles) else _of_histogram(first, second)


def _student_t(df: np.ndarray, location: np.ndarray, scale: np.ndarray) -> Distribution:
    _require(bool((df > 2).all()), "`df` of StudentT must be above 2, so that the variance is finite")
    _require(bool((scale > 0).all()), "`scale` of StudentT must be above 0")
    return StudentTMixture(df, location, scale) if len(df) > 1 else _StudentT(df[0], location[0], scale[0])


def _normal_mixture(log_weights: np.ndarray, means: np.ndarray, variances: np.ndarray) -> Distribution:
    _require(bool((variances > 0).all()), "`variances` of NormalMixtures must be above 0")
    _require_sums_of_one(
        np.exp(log_weights).sum(2), "the weights exp(log_weights) of NormalMixtures", "each sample and"
    )
    return NormalMixture(log_weights, means, variances)


def _of_quantiles(levels: np.ndarray, values: np.ndarray) -> Distribution:
    _require(levels.shape[1] >= 2, f"Quantiles needs at least 2 levels and got {levels.shape[1]}")
    inside = (levels > 0) & (levels < 1)
    _require(bool(inside.all() and (np.diff(levels) > 0).all()), "`levels` of Quantiles must increase between 0 and 1")
    _require_increasing(values, "`values` of Quantiles")
    return _PiecewiseLinear(values, levels)


def _of_histogram(edges: np.ndarray, probabilities: np.ndarray) -> Distribution:
    _require_increasing(edges, "`edges` of Histogram")
    sums = probabilities.sum(1, keepdims=True)
    _require(bool((probabilities >= 0).all()), "`probabilities` of Histogram must be at least 0")
    _require_sums_of_one(sums, "`probabilities` of Histogram", "each")
    cumulated = np.cumsum(probabilities, 1)
    cumulated /= cumulated[:, -1:]  # exactly 1 at the end, also where the last bins are empty
    return _PiecewiseLinear(edges, np.hstack([np.zeros_like(sums), cumulated]))


class _StudentT:
    """Student's t distribution with `df` degrees of freedom, shifted and scaled; (n,) each."""

    def __init__(self, df: np.ndarray, location: np.ndarray, scale: np.ndarray):
        self._df, self._scale = df, scale
        self.mean, self.variance = location, scale**2 * df / (df - 2)

    def log_densities(self, y: np.ndarray) -> np.ndarray:
        densities: np.ndarray = t_log_density(self._standard(y), self._df) - np.log(self._scale)
        return densities[None]

    def cdf(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(special.stdtr(self._df, self._standard(y)))

    def quantile(self, level: float | np.ndarray) -> np.ndarray:
        return np.asarray(special.stdtrit(self._df, level) * self._scale + self.mean)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS in closed form (Jordan, Krueger and Lerch 2019, appendix A).

        With z = (y - location) / scale, density f and distribution function F of T, nu = df and the beta function B:

            scale (z (2 F(z) - 1) + 2 f(z) (nu + z^2) / (nu - 1)
                   - 2 sqrt(nu) / (nu - 1) B(1/2, nu - 1/2) / B(1/2, nu/2)^2).
        """
        nu, z = self._df, self._standard(y)
        betas = np.exp(special.betaln(0.5, nu - 0.5) - 2 * special.betaln(0.5, nu / 2))
        density, below = np.exp(t_log_density(z, nu)), special.stdtr(nu, z)
        spread = 2 * density * (nu + z**2) - 2 * np.sqrt(nu) * betas
        return np.asarray(self._scale * (z * (2 * below - 1) + spread / (nu - 1)))

    def _standard(self, y: np.ndarray) -> np.ndarray:
        standard: np.ndarray = (y - self.mean) / self._scale
        return standard


class _PiecewiseLinear:
    """A distribution function F that is linear between knots, with exponential tails.

    With the slope f of the first piece, F(t) = F_1 exp((t - x_1) / b), b = F_1 / f, below the first knot x_1, so that
    the density has no jump there; likewise 1 - F(t) above the last knot. There is no tail where F_1 is 0.

    Args:
        knots: (n, K), strictly increasing.
        levels: (n, K), F at the knots.
    """

    def __init__(self, knots: np.ndarray, levels: np.ndarray):
        self._x, self._f = knots, levels
        self._masses, self._widths = np.diff(levels), np.diff(knots)
        self._slopes = self._masses / self._widths
        self._low, self._high = levels[:, 0], 1 - levels[:, -1]  # masses of the tails
        with np.errstate(divide="ignore", invalid="ignore"):
            self._low_scale = np.where(self._low > 0, self._low / self._slopes[:, 0], 0.0)
            self._high_scale = np.where(self._high > 0, self._high / self._slopes[:, -1], 0.0)
        centres = np.column_stack(
            [knots[:, 0] - self._low_scale, (knots[:, 1:] + knots[:, :-1]) / 2, knots[:, -1] + self._high_scale]
        )
        masses = np.column_stack([self._low, self._masses, self._high])
        within = np.column_stack([self._low_scale**2, self._widths**2 / 12, self._high_scale**2])
        self.mean = (masses * centres).sum(1)
        self.variance = (masses * (within + (centres - self.mean[:, None]) ** 2)).sum(1)

    def log_densities(self, y: np.ndarray) -> np.ndarray:
        piece = self._piece(y)
        below, above = self._beyond(y)
        with np.errstate(divide="ignore"):
            inside = np.log(np.take_along_axis(self._slopes, piece[:, None], 1)[:, 0])
        tails = inside - _ratio(below, self._low_scale) - _ratio(above, self._high_scale)
        return np.where((below > 0) & (self._low == 0) | (above > 0) & (self._high == 0), -np.inf, tails)[None]

    def cdf(self, y: np.ndarray) -> np.ndarray:
        below, above = self._beyond(y)
        inside = self._inside(self._piece(y), np.clip(y, self._x[:, 0], self._x[:, -1]))
        return np.where(
            below > 0,
            self._low * np.exp(-_ratio(below, self._low_scale)),
            np.where(above > 0, 1 - self._high * np.exp(-_ratio(above, self._high_scale)), inside),
        )

    def quantile(self, level: float | np.ndarray) -> np.ndarray:
        rows = np.arange(len(self._x))
        piece = np.clip((self._f <= np.asarray(level)[..., None]).sum(1) - 1, 0, self._masses.shape[1] - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = self._x[rows, piece] + (level - self._f[rows, piece]) / self._slopes[rows, piece]
            low = self._x[:, 0] + self._low_scale * np.log(level / self._low)
            high = self._x[:, -1] - self._high_scale * np.log((1 - level) / self._high)
        quantile: np.ndarray = np.where(level < self._low, low, np.where(1 - level < self._high, high, inside))
        return quantile

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS, the integral of F^2 below y and of (1 - F)^2 above y, exactly and piece by piece.

        Over a piece of width w on which F goes linearly from p to q, the integral of F^2 is w (p^2 + p q + q^2) / 3.
        """
        split = np.clip(y[:, None], self._x[:, :-1], self._x[:, 1:])
        at_split = self._f[:, :-1] + self._slopes * (split - self._x[:, :-1])
        lower = _squares(split - self._x[:, :-1], self._f[:, :-1], at_split)
        upper = _squares(self._x[:, 1:] - split, 1 - at_split, 1 - self._f[:, 1:])
        below, above = self._beyond(y)
        low = _tail(below, self._low, self._low_scale)
        high = _tail(above, self._high, self._high_scale)
        scores: np.ndarray = (lower + upper).sum(1) + low + high
        return scores

    def _piece(self, y: np.ndarray) -> np.ndarray:
        piece: np.ndarray = np.clip((self._x <= y[:, None]).sum(1) - 1, 0, self._masses.shape[1] - 1)
        return piece

    def _inside(self, piece: np.ndarray, y: np.ndarray) -> np.ndarray:
        rows = np.arange(len(self._x))
        values: np.ndarray = self._f[rows, piece] + self._slopes[rows, piece] * (y - self._x[rows, piece])
        return values

    def _beyond(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of each y below the first knot and above the last knot, 0 inside."""
        return np.maximum(self._x[:, 0] - y, 0), np.maximum(y - self._x[:, -1], 0)


def _ratio(distance: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return distance / scale, 0 where there is no tail."""
    return distance / np.where(scale > 0, scale, np.inf)


def _squares(width: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the integral of the square of a function that is linear from `start` to `end` over a width."""
    integral: np.ndarray = width * (start**2 + start * end + end**2) / 3
    return integral


def _tail(distance: np.ndarray, mass: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the part of the CRPS over an exponential tail, of a target that lies `distance` inside it, or 0 of none.

    With G the tail's mass beyond a point, and u = G(y), it is the integral of G^2 beyond y, which is u^2 scale / 2, and
    that of (1 - G)^2 between y and the knot.
    """
    beyond = mass * np.exp(-_ratio(distance, scale))
    between = distance - 2 * scale * (mass - beyond) + scale * (mass**2 - beyond**2) / 2
    integral: np.ndarray = between + beyond**2 * scale / 2
    return integral


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise checks.NoDistribution(message)


def _require_increasing(values: np.ndarray, name: str) -> None:
    least = float(np.diff(values).min())
    _require(least > 0, f"{name} must increase strictly, or the density is infinite; the smallest step is {least:.3g}")


def _require_sums_of_one(sums: np.ndarray, name: str, at_each: str) -> None:
    off = float(np.abs(sums - 1).max())
    _require(off < SUM_TOLERANCE, f"{name} must sum to 1 at {at_each} point; a sum is off by {off:.1e}")
