"""The critical difference of mean ranks: Friedman's test, then Nemenyi's (Demsar 2006)."""

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from leaderboards.metrics import badness
from leaderboards.stats.paired import Paired, blocks
from leaderboards.stats.significance import ALPHA
from leaderboards.wording.formats import counted

FEWEST_METHODS, FEWEST_DATASETS = 2, 3


class CriticalDifference(NamedTuple):
    """Result of Friedman's and Nemenyi's tests.

    Attributes:
        mean_ranks: by method, over data sets, the best first; equal losses share the mean of their ranks.
        n_datasets: number N of data sets.
        friedman: p-value of Friedman's test that all methods have the same mean rank.
        difference: critical difference CD; NaN if nothing was tested.
        p_values: Nemenyi's, methods x methods, in the order of `mean_ranks`.
        groups: the bars of the diagram, each the names of two or more methods, the best first.
        not_tested: reason why nothing was tested; "" if something was.
    """

    mean_ranks: pd.Series
    n_datasets: int
    friedman: float
    difference: float
    p_values: pd.DataFrame
    groups: tuple[tuple[str, ...], ...]
    not_tested: str


def critical_difference(table: Paired) -> CriticalDifference:
    """Return Friedman's test over data sets and Nemenyi's test of all pairs of methods.

    Data sets that some method did not finish are left out. The blocks are data sets, not splits, because splits share
    rows and are not independent. With k methods and N data sets, CD = q sqrt(k (k + 1) / (6 N)), where q is the 0.95
    quantile of the studentized range of k groups with infinitely many degrees of freedom, over sqrt(2).

    A bar joins a longest run of methods, in the order of their mean ranks, whose first and last do not differ
    significantly at 0.05. If Friedman's test does not reject at 0.05, one bar joins all methods. SciPy's Friedman test
    needs three methods. With two it is the sign test, whose p-value equals Nemenyi's, so that one is used.

    With fewer than 2 methods or 3 data sets nothing is tested, and `not_tested` says so.
    """
    by_dataset = blocks(table)
    complete = ~(by_dataset.failed | by_dataset.not_run).any(axis=1)
    arrays = [by_dataset.arrays[dataset] for dataset in complete.index[complete]]
    losses = np.array([badness(array.mean(axis=0), table.goal) for array in arrays]).reshape(-1, len(table.methods))
    n, k = losses.shape
    mean_rank = scipy.stats.rankdata(losses, axis=1).mean(axis=0) if n else np.full(k, nan)
    order = np.lexsort((np.array(table.methods), mean_rank))
    names = [table.methods[place] for place in order]
    mean_ranks = pd.Series(mean_rank[order], names)
    if k < FEWEST_METHODS or n < FEWEST_DATASETS:
        reason = (
            f"{counted(k, 'method')} on {counted(n, 'data set')} that all finished; the test needs at least "
            f"{FEWEST_METHODS} methods and {FEWEST_DATASETS} data sets"
        )
        return CriticalDifference(mean_ranks, n, nan, nan, pd.DataFrame(nan, names, names), (), reason)

    import scikit_posthocs  # imports statsmodels, which is slow

    frame = pd.DataFrame(losses[:, order], columns=names)
    p_values = scikit_posthocs.posthoc_nemenyi_friedman(frame).set_axis(names).set_axis(names, axis=1)
    difference = scipy.stats.studentized_range.ppf(1 - ALPHA, k, np.inf) / sqrt(2) * sqrt(k * (k + 1) / (6 * n))
    friedman = _friedman(frame, p_values)
    groups = joined_runs(p_values) if friedman <= ALPHA else (tuple(names),)
    return CriticalDifference(mean_ranks, n, friedman, float(difference), p_values, groups, "")


def _friedman(frame: pd.DataFrame, p_values: pd.DataFrame) -> float:
    if frame.shape[1] == 2:
        return float(p_values.to_numpy()[0, 1])
    if frame.eq(frame.iloc[:, 0], axis=0).all(axis=None):  # the statistic is 0 / 0
        return 1.0
    return float(scipy.stats.friedmanchisquare(*frame.to_numpy().T).pvalue)


def joined_runs(p_values: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """Return the longest runs of two or more neighbours whose first and last do not differ significantly.

    Nemenyi's p-value depends only on the difference of two mean ranks, so all pairs inside a run are closer than its
    ends.

    Args:
        p_values: methods x methods, in the order of their mean ranks.
    """
    names, not_significant = [str(name) for name in p_values], p_values.to_numpy() > ALPHA
    runs, reached = [], 0
    for first in range(len(names)):
        last = int(np.flatnonzero(not_significant[first])[-1])
        if last > first and last > reached:
            runs.append(tuple(names[first : last + 1]))
            reached = last
    return tuple(runs)
