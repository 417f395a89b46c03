"""Student's t for a mean of correlated differences: the corrected resampled t (Nadeau and Bengio 2003).

For n differences with mean d, standard deviation s (n - 1 degrees of freedom) and ratio r (`dependence`),

    standard error = s sqrt(1 / n + r),   t = d / standard error,   n - 1 degrees of freedom.

With r = 0 it is the paired t of independent differences, which is used over data sets.
"""

from functools import cache, lru_cache
from math import ceil, inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

LEVEL = 0.95
POWER = 0.8
MOST = 10_000  # splits or data sets, beyond which a question counts as not to be settled


class Mean(NamedTuple):
    """A mean difference with its 95 % interval; every number is NaN where it is unknown.

    Attributes:
        mean: of the n differences.
        stderr: corrected standard error.
        low: lower end of the interval.
        high: upper end of the interval.
        n: number of differences.
        ratio: r.
    """

    mean: float
    stderr: float
    low: float
    high: float
    n: int
    ratio: float

    @property
    def detectable(self) -> float:
        """The smallest true difference whose interval excludes 0 with a probability of 80 %."""
        return self.stderr * _detectable_errors(self.n - 1) if self.n > 1 else nan

    @property
    def needed(self) -> float:
        """The smallest n at which a true difference as large as the mean is detected with a probability of 80 %.

        inf where no n is enough, because the ratio keeps the standard error up, and where the mean is 0.
        """
        if isnan(self.stderr):
            return nan
        if self.stderr == 0:
            return inf if self.mean == 0 else float(self.n)
        spread = self.stderr / sqrt(1 / self.n + self.ratio)
        return _needed(abs(self.mean) / spread, self.ratio)


def corrected_mean(differences: np.ndarray, ratio: float = 0.0) -> Mean:
    """Return the mean of differences (n,) with its interval.

    The interval is NaN with fewer than two differences, with an infinite one, and with an unknown ratio.
    """
    n = len(differences)
    if n == 0 or np.isnan(differences).any():
        return Mean(nan, nan, nan, nan, n, ratio)
    with np.errstate(invalid="ignore"):
        mean = float(np.mean(differences))
    if n == 1 or isnan(ratio) or not np.isfinite(differences).all():
        return Mean(mean, nan, nan, nan, n, ratio)
    stderr = float(np.std(differences, ddof=1)) * sqrt(1 / n + ratio)
    half = stderr * float(scipy.special.stdtrit(n - 1, (1 + LEVEL) / 2))
    return Mean(mean, stderr, mean - half, mean + half, n, ratio)


@cache
def _detectable_errors(df: int) -> float:
    """Return the true difference, in standard errors, that a two-sided t test detects with a probability of 80 %.

    The chance that t falls beyond the bound on the wrong side, 0.0001 and less, is left out.
    """
    bound = float(scipy.special.stdtrit(df, (1 + LEVEL) / 2))
    return float(scipy.optimize.brentq(lambda size: scipy.stats.nct.sf(bound, df, size) - POWER, 0, 2 * bound + 2))


@lru_cache(maxsize=4096)
def _needed(effect: float, ratio: float) -> float:
    """Return the smallest n that detects a difference of `effect` standard deviations, by bisection."""

    def settles(n: int) -> bool:
        return effect / sqrt(1 / n + ratio) >= _detectable_errors(n - 1)

    if not settles(MOST):
        return inf
    few, enough = 1, MOST
    while enough - few > 1:
        middle = ceil((few + enough) / 2)
        few, enough = (few, middle) if settles(middle) else (middle, enough)
    return float(enough)
