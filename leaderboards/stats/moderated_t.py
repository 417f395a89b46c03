"""All pairs of methods on one data set: the corrected resampled t with moderated variances.

With five splits a variance has four degrees of freedom, and among 496 pairs of 32 methods some variances are tiny by
chance. Each is therefore shrunk towards a common value by empirical Bayes (Smyth 2004). If variances s^2 of d degrees
of freedom are scaled chi-squared around true ones, whose inverses are gamma distributed with d0 degrees of freedom
around 1 / s0^2, then

    s~^2 = (d0 s0^2 + d s^2) / (d0 + d),   t = difference / (s~ sqrt(1 / S + r))

has d0 + d degrees of freedom; d0 and s0 come from mean and variance of log s^2. If all pairs vary alike, d0 is large
and the pairs lend each other their splits; if they do not, d0 is small and each keeps its own variance.

The pairs of M methods hold only (M - 1)(S - 1) independent contrasts, and tests far out in the tails of t feel that d0
is an estimate. The degrees of freedom are therefore at most half of that number. Simulated leaderboards of 8 equal
methods on 20 sets of 5 splits chose the half: of 400, 7 % had a false verdict with the whole number, and 18 % without a
limit.
"""

from collections.abc import Sequence
from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from leaderboards.stats.corrected_t import FEWEST_SPLITS, ROUNDING, detectable_errors, needed
from leaderboards.stats.significance import ALPHA, holm_rejections

FEWEST_METHODS = 4  # with three pairs or fewer, the spread of log s^2 is not known


class Pairs(NamedTuple):
    """Comparisons of all pairs of methods on one data set; arrays (M, M), NaN where nothing is tested.

    Attributes:
        t: differences in moderated standard errors.
        differences: mean loss of the row's method less that of the column's.
        spread: standard deviation of the difference over splits, moderated.
        prior_df: d0, 0 without moderation.
        n_splits: S.
        ratio: r.
    """

    t: np.ndarray
    differences: np.ndarray
    spread: np.ndarray
    prior_df: float
    n_splits: int
    ratio: float

    @property
    def p_values(self) -> np.ndarray:
        """One-sided p-values (M, M) that the row's method is worse than the column's, unadjusted."""
        p_values: np.ndarray = scipy.special.stdtr(self.df(self.n_splits), -self.t)
        return p_values

    def p_values_between(self, low: float, high: float) -> np.ndarray:
        """Return `p_values` where only those from `low` to `high` are computed; smaller ones are 0, larger ones 1."""
        df = self.df(self.n_splits)
        fewest, most = -scipy.special.stdtrit(df, [high, low])
        p_values = np.where(self.t > most, 0.0, np.where(self.t < fewest, 1.0, nan))
        between = (fewest <= self.t) & (self.t <= most)
        p_values[between] = scipy.special.stdtr(df, -self.t[between])
        return p_values

    def df(self, n_splits: int) -> float:
        """Return the degrees of freedom that so many splits would have."""
        contrasts = (n_splits - 1) * (self._n_tested - 1)
        return min(self.prior_df + n_splits - 1, max(n_splits - 1, contrasts / 2))

    def detectable(self, level: float) -> np.ndarray:
        """Return the smallest true differences (M, M) that are significant at a level with a probability of 80 %."""
        if not self._n_tested:
            return self.spread
        return self.spread * sqrt(1 / self.n_splits + self.ratio) * detectable_errors(self.df(self.n_splits), level)

    def needed(self, row: int, column: int, level: float) -> float:
        """Return how many splits detect a difference as large as the one seen with a probability of 80 %.

        inf if no number does; NaN where nothing is tested.
        """
        difference, spread = abs(self.differences[row, column]), self.spread[row, column]
        if np.isnan(spread):
            return nan
        return needed(difference / spread, self.ratio, level, self.df) if spread else inf

    @property
    def _n_tested(self) -> int:
        """Number of methods that are tested."""
        return int((~np.isnan(self.spread)).any(axis=1).sum())


def significantly_worse(datasets: Sequence[Pairs]) -> tuple[list[np.ndarray], float]:
    """Return for each data set booleans (M, M), the row's method is significantly worse than the column's, and a level.

    Holm's method adjusts all pairs of all data sets together. The probability of any false claim is at most 5 % for the
    whole leaderboard, not for each data set. The level is that of single one-sided comparisons where Holm's method
    stopped.
    """
    if not datasets:
        return [], ALPHA
    n_tested = sum(int((~np.isnan(pairs.t)).sum()) for pairs in datasets)
    # Holm's method starts at the level ALPHA / n and stops below ALPHA / (n / 2), because of the two directions of a
    # pair at most one is rejected. Twice that room is left for rounding.
    first = ALPHA / max(n_tested, 1)
    parts = [pairs.p_values_between(first / 2, 4 * first).ravel() for pairs in datasets]
    significant, level = holm_rejections(np.concatenate(parts))
    ends = np.cumsum([pairs.t.size for pairs in datasets])[:-1]
    parts = np.split(significant, ends)
    worse = [part.reshape(pairs.t.shape) for part, pairs in zip(parts, datasets, strict=True)]
    return worse, level


def all_pairs(losses: np.ndarray, ratio: float) -> Pairs:
    """Return the comparisons of all pairs of methods on one data set.

    A difference that is the same on all splits has no standard error. It is certain from `FEWEST_SPLITS` splits on, and
    not tested with fewer.

    Args:
        losses: (S, M); a method with a NaN or an infinity is not tested.
        ratio: of the split scheme (`dependence`); nothing is tested where it is NaN.
    """
    n_splits, n_methods = losses.shape
    t_of, differences_of, spread = np.full((3, n_methods, n_methods), nan)
    pairs = Pairs(t_of, differences_of, spread, 0.0, n_splits, ratio)
    tested = np.flatnonzero(np.isfinite(losses).all(axis=0))
    if n_splits < 2 or len(tested) < 2 or np.isnan(ratio):
        return pairs
    values = losses[:, tested]
    means = values.mean(axis=0)
    first, second = np.triu_indices(len(tested), 1)
    differences = means[first] - means[second]
    by_method = np.ascontiguousarray(values.T)  # whose rows are taken four times as fast as columns
    variances = (by_method.take(first, axis=0) - by_method.take(second, axis=0)).var(axis=1, ddof=1)
    variances[variances <= (ROUNDING * differences) ** 2] = 0
    if len(tested) >= FEWEST_METHODS:
        variances, df = moderated(variances, n_splits - 1)
        pairs = pairs._replace(prior_df=df - (n_splits - 1))
    rows, columns = tested[first], tested[second]
    pairs.differences[rows, columns], pairs.differences[columns, rows] = differences, -differences
    pairs.spread[rows, columns] = pairs.spread[columns, rows] = np.sqrt(variances)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences / np.sqrt(variances * (1 / n_splits + ratio))
    t[differences == 0] = 0
    if n_splits < FEWEST_SPLITS:
        t[np.isinf(t)] = nan
    pairs.t[rows, columns], pairs.t[columns, rows] = t, -t
    return pairs


def moderated(variances: np.ndarray, df: float) -> tuple[np.ndarray, float]:
    """Return variances (P,) shrunk towards a common value, and their degrees of freedom d0 + df.

    Variances of 0 are raised to 1e-5 times the median, so that their logarithm exists; if the median is 0, nothing is
    shrunk.
    """
    middle = np.median(variances)
    if middle == 0:
        return variances, df
    raised = np.maximum(variances, 1e-5 * middle)
    centred = np.log(raised) - scipy.special.digamma(df / 2) + np.log(df / 2)
    excess = centred.var(ddof=1) - scipy.special.polygamma(1, df / 2)
    if excess <= 0:  # no more spread than chance gives
        return np.full(len(variances), np.exp(centred.mean())), inf
    prior_df = 2 * _inverse_trigamma(float(excess))
    prior = np.exp(centred.mean() + scipy.special.digamma(prior_df / 2) - np.log(prior_df / 2))
    return (prior_df * prior + df * raised) / (prior_df + df), prior_df + df


def _inverse_trigamma(value: float) -> float:
    """Return y with trigamma(y) = value, by Newton's method on 1 / trigamma (Smyth 2004, appendix)."""
    y = 0.5 + 1 / value
    for _ in range(100):
        trigamma = scipy.special.polygamma(1, y)
        step = trigamma * (1 - trigamma / value) / scipy.special.polygamma(2, y)
        y += step
        if -step / y < 1e-8:
            break
    return float(y)
