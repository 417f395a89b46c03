"""The critical difference: which mean ranks differ by more than chance (Demsar 2006)."""

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from leaderboards.metrics import badness
from leaderboards.stats.paired import Paired, blocks
from leaderboards.stats.ties import ALPHA

FEWEST_METHODS, FEWEST_DATASETS = 2, 3


class CriticalDifference(NamedTuple):
    """Attributes:
    mean_ranks: by method, over data sets, the best first; equal losses share the mean of their places.
    n_datasets: N.
    friedman: p-value of Friedman's test that all methods rank alike.
    difference: mean ranks that differ by less are joined by a bar; NaN if nothing was tested.
    p_values: Nemenyi's, methods x methods, in the order of `mean_ranks`.
    groups: the bars, each the methods it joins (two or more), the best first.
    untold: why nothing was tested; "" if something was.
    """

    mean_ranks: pd.Series
    n_datasets: int
    friedman: float
    difference: float
    p_values: pd.DataFrame
    groups: tuple[tuple[str, ...], ...]
    untold: str


def critical_difference(table: Paired) -> CriticalDifference:
    """Friedman's test over data sets, then Nemenyi's of all pairs; the data sets that some method lacks are left out.

    The blocks are data sets, not splits, which share rows and are no independent evidence. With k methods and N data
    sets CD = q sqrt(k (k + 1) / (6 N)), where q is the 0.95 quantile of the studentized range of k groups with
    infinitely many degrees of freedom, over sqrt(2). A bar joins a longest run of methods, in the order of their mean
    ranks, whose ends are not told apart at 0.05. If Friedman's test does not reject at 0.05, one bar joins all. With
    two methods Friedman's test is the sign test; SciPy has none of fewer than three, so Nemenyi's p-value, which
    is then the same, stands for it.

    Fewer than 2 methods or 3 data sets are not tested, and `untold` says so.
    """
    import scikit_posthocs  # pulls in statsmodels, which is slow to import

    found = blocks(table)
    whole = ~(found.lacking | found.absent).any(axis=1)
    values = [found.arrays[dataset] for dataset in whole.index[whole]]
    losses = np.array([badness(one.mean(axis=0), table.goal) for one in values]).reshape(-1, len(table.methods))
    n, k = losses.shape
    placed = stats.rankdata(losses, axis=1).mean(axis=0) if n else np.full(k, nan)
    order = np.lexsort((table.methods, placed))
    names = [table.methods[place] for place in order]
    mean_ranks = pd.Series(placed[order], names)
    if k < FEWEST_METHODS or n < FEWEST_DATASETS:
        untold = (
            f"{k} method{'s' * (k != 1)} on {n} data set{'s' * (n != 1)} that all finished: the test wants at least "
            f"{FEWEST_METHODS} methods and {FEWEST_DATASETS} data sets"
        )
        blank = pd.DataFrame(nan, names, names)
        return CriticalDifference(mean_ranks, n, nan, nan, blank, (), untold)

    frame = pd.DataFrame(losses[:, order], columns=names)
    p_values = scikit_posthocs.posthoc_nemenyi_friedman(frame).set_axis(names).set_axis(names, axis=1)
    difference = stats.studentized_range.ppf(1 - ALPHA, k, np.inf) / sqrt(2) * sqrt(k * (k + 1) / (6 * n))
    friedman = _friedman(frame, p_values)
    groups = runs(p_values) if friedman <= ALPHA else (tuple(names),)
    return CriticalDifference(mean_ranks, n, friedman, float(difference), p_values, groups, "")


def _friedman(frame: pd.DataFrame, p_values: pd.DataFrame) -> float:
    if frame.shape[1] == 2:
        return float(p_values.iloc[0, 1])
    if frame.eq(frame.iloc[:, 0], axis=0).all(axis=None):  # the statistic is 0 / 0
        return 1.0
    return float(stats.friedmanchisquare(*frame.to_numpy().T).pvalue)


def runs(p_values: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """The longest runs of two or more neighbours of `p_values` whose first and last are not told apart.

    Nemenyi's p-value depends on the distance of two mean ranks alone, so all pairs inside a run are closer than its
    ends.
    """
    names, alike = list(p_values), p_values.to_numpy() > ALPHA
    found, reached = [], 0
    for first in range(len(names)):
        last = max(np.flatnonzero(alike[first]))
        if last > first and last > reached:
            found.append(tuple(names[first : last + 1]))
            reached = last
    return tuple(found)
