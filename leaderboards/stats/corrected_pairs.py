"""All pairs of methods on one data set: the corrected resampled t, each pair with its own variance.

S splits of the same rows are not S experiments. The variance of a mean over them is that of

    n = 1 / (1 / S + r)

independent ones, where r is the ratio of the split scheme (`dependence`), and t is taken to have n - 1 degrees of
freedom. With S - 1 of them, as by Nadeau and Bengio (2003), intervals at 95 % hold, but not tests far out in the tails
of t, as are those of many pairs: a few splits with extreme results, which real data have, are then found significant.
Bouckaert (2003) found likewise that ten times ten folds carry about as many degrees of freedom as ten. No variances are
pooled, because those of methods differ by factors of ten.

Holm's method adjusts the pairs of one data set. `docs/statistics.md` has the measured error rates.
"""

from math import ceil, inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from lockstep_bench.leaderboards.stats.corrected_t import FEWEST_SPLITS, ROUNDING, detectable_errors, needed
from lockstep_bench.leaderboards.stats.dependence import FEWEST_EXPERIMENTS, effective
from lockstep_bench.leaderboards.stats.significance import holm_rejections


class Pairs(NamedTuple):
    """Comparisons of M methods on one data set; arrays (M, M), NaN where nothing is tested.

    Attributes:
        worse: the row's method is significantly worse than the column's, bool.
        level: level of single one-sided comparisons where Holm's method stopped.
        differences: mean loss of the row's method less that of the column's.
        spread: standard deviation of the difference over splits.
        n_splits: S.
        ratio: r.
    """

    worse: np.ndarray
    level: float
    differences: np.ndarray
    spread: np.ndarray
    n_splits: int
    ratio: float

    def detectable(self) -> np.ndarray:
        """Return the smallest distinguishable difference of each method to another one, at a power of 80 %, (M,).

        The median over the other methods; inf if nothing is tested.
        """
        n = effective(self.n_splits, self.ratio)
        if not (n >= FEWEST_EXPERIMENTS and np.isfinite(self.spread).any()):
            return np.full(len(self.spread), inf)
        typical = np.array([np.median(row[~np.isnan(row)]) if (~np.isnan(row)).any() else nan for row in self.spread])
        return typical / sqrt(n) * detectable_errors(n - 1, self.level)

    def needed(self, row: int, column: int) -> float:
        """Return the number of splits that detects the observed difference with a power of 80 %.

        inf if no number does; NaN where nothing is tested.
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

    A difference that is the same on all splits has no standard error. It is certain from `FEWEST_SPLITS` splits on, and
    not tested with fewer. Nothing is tested where the splits are worth fewer than `FEWEST_EXPERIMENTS`.

    Args:
        losses: (S, M); a method with a NaN or an infinity is not tested.
        ratio: ratio of the split scheme (`dependence`); nothing is tested where it is NaN.
        asked: booleans (M, M), the pairs to test; None for all.
    """
    n_splits, n_methods = losses.shape
    n = effective(n_splits, ratio)
    differences, spread, t = np.full((3, n_methods, n_methods), nan)
    tested = np.flatnonzero(np.isfinite(losses).all(axis=0))
    if n_splits > 1 and not isnan(n):
        by_method = np.ascontiguousarray(losses[:, tested].T)
        first, second = np.triu_indices(len(tested), 1)
        between = by_method.take(first, axis=0) - by_method.take(second, axis=0)
        means, variances = between.mean(axis=1), between.var(axis=1, ddof=1)
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
            t[rows, columns], t[columns, rows] = ratios, -ratios
    if asked is not None:
        t[~asked] = nan
    p_values = scipy.special.stdtr(n - 1, -t) if n >= FEWEST_EXPERIMENTS else t
    significant, level = holm_rejections(p_values.ravel())
    return Pairs(significant.reshape(t.shape), level, differences, spread, n_splits, ratio)
