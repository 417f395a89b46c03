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

import numpy as np
import scipy

from leaderboards.stats.significance import ALPHA

N_PERMUTATIONS = 3999


def significantly_worse(losses: np.ndarray) -> np.ndarray:
    """Return booleans (M, M): the row's method was eliminated because of the column's.

    Args:
        losses: one row per data set (D, M); low is good. Infinite losses share the last ranks, and so do NaN, which are
            failures.
    """
    n_methods = losses.shape[1]
    worse = np.zeros((n_methods, n_methods), bool)
    left = np.arange(n_methods)
    losses = np.where(np.isnan(losses), np.inf, losses)
    while len(left) > 1 and len(losses):
        ranks = scipy.stats.rankdata(losses[:, left], axis=1)
        means = ranks.mean(axis=0)
        exceeds = means[:, None] - means > critical_range(ranks) + 1e-9
        if not exceeds.any():
            break
        worse[np.ix_(left, left)] |= exceeds
        left = left[~exceeds.any(axis=1)]
    return worse


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
