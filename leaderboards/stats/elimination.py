"""Over data sets: the methods that could be the best, by eliminating those that could not.

The procedure is a model confidence set (Hansen, Lunde and Nason 2011) of mean ranks, with permutations in the place of
the bootstrap, which needs more data sets than there are:

1. Rank the methods on each data set, and average the ranks over data sets.
2. Compare all differences of mean ranks with a critical range: the 95 % quantile of the largest difference that occurs
   if the ranks are dealt to the methods at random on each data set.
3. Eliminate the methods that are worse than another one by more than that. Rank the others anew, and repeat until no
   method is eliminated.

If the methods that are left in some round are equally good, each order of them is equally probable on each data set,
and the probability that one of them is eliminated is at most 5 %, whatever the distribution of the losses. This bounds
the probability that any of the truly best methods is eliminated, for all methods together.
"""

from functools import lru_cache
from math import ceil, inf, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from leaderboards.stats.corrected_t import POWER
from leaderboards.stats.significance import ALPHA

N_PERMUTATIONS = 3999


class Elimination(NamedTuple):
    """Comparisons of methods over data sets.

    Attributes:
        worse: booleans (M, M), the row's method was eliminated because of the column's.
        ranks: (D, L), of the L methods that the last round compared.
        left: indices of these methods (L,).
    """

    worse: np.ndarray
    ranks: np.ndarray
    left: np.ndarray

    def detectable(self) -> float:
        """Return the smallest true difference of two mean ranks that the last round detects with 80 % probability.

        The difference of two mean ranks is taken for normal, with the variance that it has for equally good methods.
        The first on all data sets is distinguished from the last on all with certainty, or never: then inf. NaN if
        nothing was compared.
        """
        n_datasets, n_left = self.ranks.shape
        if not n_datasets or n_left < 2:
            return nan
        critical, largest = critical_range(self.ranks), n_left - 1
        if largest <= critical + 1e-9:
            return inf
        return min(critical + float(scipy.special.ndtri(POWER)) * self._spread / sqrt(n_datasets), largest)

    def needed(self, difference: float) -> float:
        """Return about how many data sets detect such a difference of two mean ranks with 80 % probability.

        For many data sets, the largest difference of L mean ranks of equally good methods has the distribution of the
        studentized range (Nemenyi 1963).
        """
        if difference == 0:
            return inf
        quantile = _range_quantile(self.ranks.shape[1]) / sqrt(2) + scipy.special.ndtri(POWER)
        return float(ceil((quantile * self._spread / difference) ** 2))

    @property
    def _spread(self) -> float:
        """Standard deviation of the difference of two ranks on a data set, if ranks are dealt at random."""
        variances = self.ranks.var(axis=1, ddof=1)
        return float(np.sqrt(2 * variances.mean()))


def eliminate(losses: np.ndarray) -> Elimination:
    """Return the comparisons of methods over data sets.

    Args:
        losses: one row per data set (D, M); low is good. Infinite losses share the last ranks, and so do NaN, which are
            failures.
    """
    n_methods = losses.shape[1]
    worse = np.zeros((n_methods, n_methods), bool)
    left = np.arange(n_methods)
    losses = np.where(np.isnan(losses), np.inf, losses)
    while True:
        ranks = scipy.stats.rankdata(losses[:, left], axis=1)
        if len(left) < 2 or not len(losses):
            return Elimination(worse, ranks, left)
        means = ranks.mean(axis=0)
        exceeds = means[:, None] - means > critical_range(ranks) + 1e-9
        worse[np.ix_(left, left)] |= exceeds
        beaten = exceeds.any(axis=1)
        if not beaten.any() or (~beaten).sum() == 1:
            return Elimination(worse, ranks, left)
        left = left[~beaten]


def critical_range(ranks: np.ndarray) -> float:
    """Return the difference of two mean ranks that any pair exceeds with a probability of at most 5 % by chance.

    Args:
        ranks: (D, M), ties sharing the mean of their ranks.
    """
    ordered = np.sort(ranks, axis=1)
    ordered = ordered[np.lexsort(ordered.T)]  # the order of data sets does not count
    return _critical_range(ordered.tobytes(), *ranks.shape)


@lru_cache(maxsize=1024)
def _critical_range(ordered: bytes, n_datasets: int, n_methods: int) -> float:
    """Return the k-th largest of N random ranges; with k = 5 % of N + 1 the test is exact (Phipson and Smyth 2010)."""
    rng = np.random.default_rng(0)
    totals = np.zeros((N_PERMUTATIONS, n_methods))
    for ranks in np.frombuffer(ordered).reshape(n_datasets, n_methods):
        totals += ranks[np.argsort(rng.random(totals.shape, np.float32), axis=1)]
    ranges = np.sort(np.ptp(totals, axis=1)) / n_datasets
    return float(ranges[-int(ALPHA * (N_PERMUTATIONS + 1))])


@lru_cache(maxsize=1024)
def _range_quantile(n_methods: int) -> float:
    """Return the 95 % quantile of the range of normal variables with known variance."""
    return float(scipy.stats.studentized_range.ppf(1 - ALPHA, n_methods, np.inf))
