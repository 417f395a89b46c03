"""Student's t for a mean of correlated differences: the corrected resampled t (Nadeau and Bengio 2003), and its power.

For n differences with mean d, standard deviation s (n - 1 degrees of freedom) and ratio r = n_test / n_train of the
splits (`dependence`),

    standard error = s sqrt(1 / n + r),   t = d / standard error,   n - 1 degrees of freedom.

With r = 0 it is the paired t of independent differences, which is used over data sets.

The smallest difference that a test at level alpha detects with a probability of 80 % is the standard error times the
noncentrality at which t exceeds its critical value with that probability. No number of splits makes the standard error
smaller than s sqrt(r). Differences below (z_{1 - alpha / 2} + z_{0.8}) s sqrt(r) are therefore never detected with that
probability.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from math import ceil, inf, isnan, nan, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import scipy

from lockstep_bench.leaderboards.stats.significance import ALPHA

LEVEL = 1 - ALPHA
POWER = 0.8
Z_OF_POWER = NormalDist().inv_cdf(POWER)
MOST = 10_000  # splits or data sets, beyond which a question counts as not to be decided
QUANTILES = (np.arange(1000) + 0.5) / 1000
ROUNDING = 1e-9  # spread of differences, relative to their mean, up to which they count as equal
FEWEST_SPLITS = 5  # with fewer, chance alone makes all of them agree more often than one time in 20


class Mean(NamedTuple):
    """A mean difference with its 95 % interval; every number is NaN where it is unknown.

    Attributes:
        mean: mean of the n differences.
        stderr: corrected standard error.
        low: lower end of the interval.
        high: upper end of the interval.
        n: number of differences.
        ratio: r = n_test / n_train; 0 for independent differences.
    """

    mean: float
    stderr: float
    low: float
    high: float
    n: int
    ratio: float

    @property
    def p_value(self) -> float:
        """Two-sided p-value of the hypothesis that the true difference is 0.

        A difference that is the same on all splits has no standard error. It counts as significant from `FEWEST_SPLITS`
        splits on, and is not tested with fewer.
        """
        if self.stderr == 0 and self.mean != 0:
            return 0.0 if self.n >= FEWEST_SPLITS else nan
        return float(2 * scipy.special.stdtr(self.n - 1, -abs(self.mean / self.stderr))) if self.stderr else 1.0

    def detectable(self, alpha: float = ALPHA) -> float:
        """Return the smallest true difference that a two-sided test at level `alpha` detects with 80 % power."""
        return self.stderr * detectable_errors(self.n - 1, alpha / 2) if self.n > 1 else nan

    def floor(self, alpha: float = ALPHA) -> float:
        """Return the limit of `detectable` as the number of splits grows; 0 for independent splits."""
        if isnan(self.stderr):
            return nan
        return self._spread * sqrt(self.ratio) * detectable_errors(inf, alpha / 2)

    def needed(self, alpha: float = ALPHA) -> float:
        """Return the smallest number of differences n that detects the observed mean with a power of 80 %.

        Returns inf if the mean is 0 or no n suffices: with a ratio r > 0, the standard error never falls below s
        sqrt(r), where s is the standard deviation of the differences. NaN if the standard error is unknown.
        """
        if isnan(self.stderr):
            return nan
        if self.stderr == 0:
            return inf if self.mean == 0 else float(self.n)
        return needed(abs(self.mean) / self._spread, self.ratio, alpha / 2)

    @property
    def _spread(self) -> float:
        """Standard deviation of the differences."""
        return self.stderr / sqrt(1 / self.n + self.ratio)


def corrected_mean(differences: np.ndarray, ratio: float = 0.0) -> Mean:
    """Return the mean of differences (n,) with its interval.

    `ratio` is n_test / n_train of the splits, or 0 if the differences are independent. The interval is NaN with fewer
    than two differences, with an infinite one, and with an unknown ratio. Differences that are equal up to rounding
    have the standard error 0.
    """
    (mean,) = corrected_means(differences[None], ratio)
    return mean


def corrected_means(differences: np.ndarray, ratio: float = 0.0) -> list[Mean]:
    """Return `corrected_mean` of each row of differences (M, n)."""
    n_rows, n = differences.shape
    if n == 0:
        return [Mean(nan, nan, nan, nan, n, ratio)] * n_rows
    with np.errstate(invalid="ignore"):
        means = differences.mean(axis=1)
        spreads = differences.std(axis=1, ddof=1) if n > 1 else np.full(n_rows, nan)
    tested = np.isfinite(differences).all(axis=1) & (n > 1) & (not isnan(ratio))
    quantile = float(scipy.special.stdtrit(n - 1, (1 + LEVEL) / 2)) if n > 1 else nan
    corrected = []
    for mean, spread, known in zip(means.tolist(), spreads.tolist(), tested.tolist(), strict=True):
        if not known:
            corrected.append(Mean(nan if isnan(mean) else mean, nan, nan, nan, n, ratio))
            continue
        stderr = 0.0 if spread <= ROUNDING * abs(mean) else spread * sqrt(1 / n + ratio)
        half = stderr * quantile
        corrected.append(Mean(mean, stderr, mean - half, mean + half, n, ratio))
    return corrected


@lru_cache(maxsize=65536)
def detectable_errors(df: float, alpha: float) -> float:
    """Return the true difference, in standard errors, that a one-sided t test detects with a probability of 80 %.

    It is the d with E[Phi(d - b sqrt(w / df))] = 0.8 for the critical value b and a chi-squared w of `df` degrees of
    freedom. The mean is taken over quantiles of w, because SciPy's noncentral t does not converge for a large b. The
    chance that t falls beyond the bound on the wrong side, 0.0001 and less, is left out.

    Args:
        df: degrees of freedom; inf for the normal distribution.
        alpha: one-sided level.
    """
    if df == inf:
        return float(scipy.special.ndtri(1 - alpha) + scipy.special.ndtri(POWER))
    return errors_beyond(df, float(scipy.special.stdtrit(df, 1 - alpha)))


def errors_beyond(df: float, critical: float) -> float:
    """Return the result of `detectable_errors` for a test that is given by its critical value, which is above 0.

    It is found by bisection, which is faster than the import of `scipy.optimize`.
    """
    bounds = critical * _spreads(df)
    low, high = 0.0, 2 * float(bounds.max())
    for _ in range(52):  # bits of a float
        middle = (low + high) / 2
        low, high = (low, middle) if scipy.special.ndtr(middle - bounds).mean() >= POWER else (middle, high)
    return high


def _detected(errors: float, df: float, alpha: float) -> bool:
    """Return whether `errors` are at least `detectable_errors`, without solving for these."""
    bounds = scipy.special.stdtrit(df, 1 - alpha) * _spreads(df)
    return bool(scipy.special.ndtr(errors - bounds).mean() >= POWER)


@lru_cache(maxsize=4096)  # 8 kB each
def _spreads(df: float) -> np.ndarray:
    spreads: np.ndarray = np.sqrt(scipy.special.chdtri(df, QUANTILES) / df)
    return spreads


def _about_detectable(df: float, alpha: float) -> float:
    """Return an approximation of `detectable_errors`, in which b sqrt(w / df) is taken as normal."""
    critical = float(scipy.special.stdtrit(df, 1 - alpha))
    return critical + Z_OF_POWER * sqrt(1 + critical**2 / (2 * df))


def needed(effect: float, ratio: float, alpha: float, df: Callable[[int], float] = lambda n: n - 1) -> float:
    """Return the smallest n at which a difference is detected with a probability of 80 %; inf above `MOST`.

    Args:
        effect: true difference in standard deviations over splits.
        ratio: r = n_test / n_train.
        alpha: one-sided level.
        df: function that returns the degrees of freedom for n differences; they grow with n.
    """

    def settles(n: int) -> bool:
        return _detected(effect / sqrt(1 / n + ratio), df(n), alpha)

    room = (effect / detectable_errors(inf, alpha)) ** 2 - ratio  # for 1 / n, if the spread were known
    if room * MOST <= 1:
        return inf
    fewest = max(ceil(1 / room) - 1, 1)  # which do not decide it
    sizes = range(fewest + 1, MOST)
    guess = sizes.start + bisect_left(
        sizes, True, key=lambda n: effect / sqrt(1 / n + ratio) >= _about_detectable(df(n), alpha)
    )
    few, enough, step = fewest, MOST, 1
    if settles(guess):
        enough = guess
        while enough - step > fewest and settles(enough - step):
            enough, step = enough - step, 2 * step
        few = max(enough - step, fewest)
    elif not settles(MOST):
        return inf
    else:
        few = guess
        while few + step < MOST and not settles(few + step):
            few, step = few + step, 2 * step
        enough = min(few + step, MOST)
    while enough - few > 1:
        middle = ceil((few + enough) / 2)
        few, enough = (few, middle) if settles(middle) else (middle, enough)
    return float(enough)
