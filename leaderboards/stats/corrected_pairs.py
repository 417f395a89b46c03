"""Tests of all pairs of methods on one data set by the corrected resampled t, each pair with its own variance.

S splits of the same rows are not S independent experiments. The variance of a mean over them is that of

    n = 1 / (1 / S + r)

independent experiments, where r = n_test / n_train (`dependence`), and t is taken to have n - 1 degrees of freedom.
With S - 1 of them, as Nadeau and Bengio (2003) propose, 95 % intervals have their coverage, but tests at the small
levels that many pairs need reject too often: a few splits with extreme results, which real data have, would be found
significant. Bouckaert (2003) found likewise that ten times ten folds carry about as many degrees of freedom as ten.
Variances are not pooled, because those of methods differ by factors of ten.

Holm's method adjusts the pairs of one data set. `docs/statistics.md` has the measured error rates.
"""

from math import ceil, inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from lockstep_bench.leaderboards.stats.corrected_t import FEWEST_SPLITS, ROUNDING, detectable_errors, needed
from lockstep_bench.leaderboards.stats.dependence import FEWEST_EXPERIMENTS, effective
from lockstep_bench.leaderboards.stats.significance import ALPHA, holm_rejections

MARGIN = 0.01  # of critical values of t, far above their rounding
AT_ONCE = 1024  # pairs whose differences fit in the processor's cache


class Pairs(NamedTuple):
    """Comparisons of M methods on one data set; arrays (M, M), NaN where nothing is tested.

    Attributes:
        worse: the row's method is significantly worse than the column's, bool.
        level: level of a single one-sided test at which Holm's method stopped rejecting.
        differences: mean loss of the row's method minus mean loss of the column's method.
        spread: standard deviation of the difference over splits.
        n_splits: S, number of splits.
        ratio: r = n_test / n_train.
    """

    worse: np.ndarray
    level: float
    differences: np.ndarray
    spread: np.ndarray
    n_splits: int
    ratio: float

    def detectable(self) -> np.ndarray:
        """Return the smallest difference that is detected with 80 % power, for each method (M,).

        It is the median over the comparisons with the other methods; inf if nothing is tested.
        """
        n = effective(self.n_splits, self.ratio)
        if not (n >= FEWEST_EXPERIMENTS and np.isfinite(self.spread).any()):
            return np.full(len(self.spread), inf)
        typical = np.array([np.median(row[~np.isnan(row)]) if (~np.isnan(row)).any() else nan for row in self.spread])
        return typical / sqrt(n) * detectable_errors(n - 1, self.level)

    def needed(self, row: int, column: int) -> float:
        """Return the number of splits at which the observed difference of two methods is detected with a power of 80 %.

        Returns inf if no number suffices, and NaN if the pair is not tested.
        """
        difference, spread = abs(self.differences[row, column]), self.spread[row, column]
        if np.isnan(spread):
            return nan
        if not spread or self.ratio >= 1 / FEWEST_EXPERIMENTS:
            return inf
        fewest = ceil(1 / (1 / FEWEST_EXPERIMENTS - self.ratio))
        enough = needed(difference / spread, self.ratio, self.level, lambda n: max(effective(n, self.ratio) - 1, 1.0))
        return max(enough, float(fewest))


def all_pairs(losses: np.ndarray, ratio: float, asked: np.ndarray | None = None) -> Pairs:
    """Return the comparisons of all pairs of methods on one data set.

    A difference that is the same on all splits has no standard error. It counts as significant from `FEWEST_SPLITS`
    splits on, and is not tested with fewer. Nothing is tested if the splits are equivalent to fewer than
    `FEWEST_EXPERIMENTS` independent experiments.

    Args:
        losses: losses on S splits of M methods (S, M); a method with a NaN or an infinity is not tested.
        ratio: n_test / n_train (`dependence`); nothing is tested if it is NaN.
        asked: booleans (M, M), true for the pairs to test; None for all pairs.
    """
    n_splits, n_methods = losses.shape
    n = effective(n_splits, ratio)
    differences, spread, p_values = np.full((3, n_methods, n_methods), nan)
    tested = np.flatnonzero(np.isfinite(losses).all(axis=0))
    if n_splits > 1 and not isnan(n):
        by_split = losses[:, tested]
        first, second = np.triu_indices(len(tested), 1)
        means, variances = np.empty((2, len(first)))
        for place in range(0, len(first), AT_ONCE):
            here = slice(place, place + AT_ONCE)
            between = by_split.take(first[here], axis=1) - by_split.take(second[here], axis=1)
            means[here] = between.mean(axis=0)
            between -= means[here]
            between *= between
            variances[here] = between.sum(axis=0) / (n_splits - 1)
        variances[variances <= (ROUNDING * means) ** 2] = 0
        rows, columns = tested[first], tested[second]
        differences[rows, columns], differences[columns, rows] = means, -means
        spread[rows, columns] = spread[columns, rows] = np.sqrt(variances)
        if n >= FEWEST_EXPERIMENTS:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = means / np.sqrt(variances / n)
            ratios[means == 0] = 0
            if n_splits < FEWEST_SPLITS:
                ratios[np.isinf(ratios)] = nan
            smaller = _p_values(np.abs(ratios), n - 1)
            other = np.where(np.isnan(ratios), nan, 1.0)  # above one half in truth, which no level is
            p_values[rows, columns] = np.where(ratios > 0, smaller, other)
            p_values[columns, rows] = np.where(ratios < 0, smaller, other)
    if asked is not None:
        p_values[~asked] = nan
    significant, level = holm_rejections(p_values.ravel())
    return Pairs(significant.reshape(p_values.shape), level, differences, spread, n_splits, ratio)


def _p_values(ratios: np.ndarray, df: float) -> np.ndarray:
    """Return one-sided p-values of t statistics (P,), exact where Holm's method for 2 P tests needs them.

    Those that are significant in any case are 0, and those that are not in any case are 1; NaN stay NaN. SciPy takes
    longer for all of them than everything else here.
    """
    low, high = -scipy.special.stdtrit(df, [ALPHA, ALPHA / (2 * max(len(ratios), 1))])
    p_values = np.where(ratios > high, 0.0, np.where(np.isnan(ratios), nan, 1.0))
    near = (ratios > (1 - MARGIN) * low) & (ratios < (1 + MARGIN) * high)
    p_values[near] = scipy.special.stdtr(df, -ratios[near])
    return p_values
