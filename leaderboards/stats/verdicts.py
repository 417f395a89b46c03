"""Verdicts on a data set: the best method, and the methods that do not differ significantly from it.

The best method has the smallest mean loss over the splits that all methods were run on, among the methods that have a
value on each of these. (`metrics.loss` is the metric, turned so that low is good.) A failure therefore cannot improve a
mean. Every rival is compared with the best by a paired test (`significance`) over the splits that both finished.

The p-values of a metric on a board are adjusted by Holm's method. A rival is "worse" if its adjusted p-value is at most
0.05 and the test has the same sign as the difference of the means. Otherwise it is "tied", or "failed" if it has no
value on some split that it was run on. Test and means can disagree: a single extreme split can decide a mean, but not a
rank test.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from leaderboards.metrics import loss, metric
from leaderboards.stats.significance import ALPHA, FEWEST_PAIRS, holm, paired_tests
from leaderboards.stats.summary import BOARD

VERDICTS = ("best", "tied", "failed", "worse", "untested", "alone")


class Verdict(NamedTuple):
    """One row of `verdicts`."""

    suite: str
    dataset: str
    preset: str
    metric: str
    method: str
    verdict: str
    p_value: float
    n_pairs: int
    test: str


def verdicts(splits: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per board, metric and method, for metrics that have a direction in which they are better.

    Columns: `BOARD`, metric, method and `verdict`, one of `VERDICTS`; for rivals also `p_value` (adjusted), `n_pairs`
    and `test`. A method without rivals is "alone". "untested" are rivals with too few pairs, and all methods where all
    means are infinite or no method has a value on every split.

    Args:
        splits: result of `summary.per_split` for the cells.
        cells: columns of `bench.schema.CELLS`.
    """
    tries = dict(list(cells[[*BOARD, "method", "split"]].groupby(BOARD)))
    rows = []
    for board, part in splits.groupby(BOARD):
        for name, methods, values, tried in _by_metric(part, tries[board]):
            goal = metric(name).goal
            if goal is not None:
                judged = zip(methods, *_judge(values, tried, goal), strict=True)
                rows += [[*board, name, *columns] for columns in judged]
    return pd.DataFrame(rows, columns=list(Verdict._fields))


def _by_metric(part: pd.DataFrame, tries: pd.DataFrame) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield for each metric of one board: its name, its M methods, values (S, M) with NaN for none, tries (S, M)."""
    methods, numbers, metrics = (
        np.sort(column.unique()) for column in (tries["method"], tries["split"], part["metric"])
    )
    tried = np.zeros((len(numbers), len(methods)), bool)
    tried[_codes(tries["split"], numbers), _codes(tries["method"], methods)] = True
    values = np.full((len(metrics), *tried.shape), np.nan)
    where = (_codes(part["metric"], metrics), _codes(part["split"], numbers), _codes(part["method"], methods))
    values[where] = part["value"]
    for name, wide in zip(metrics, values, strict=True):
        has = ~np.isnan(wide).all(axis=0)
        yield name, methods[has], wide[:, has], tried[:, has]


def _codes(column: pd.Series, values: np.ndarray) -> np.ndarray:
    return pd.Categorical(column, categories=values).codes


def _judge(values: np.ndarray, tried: np.ndarray, goal: str | float) -> tuple[np.ndarray, ...]:
    """Return verdict, p-value, number of pairs and test, (M,) each, from values and tries (S, M)."""
    n_methods = values.shape[1]
    verdict = np.full(n_methods, "untested", object)
    p_value, n_pairs, name = np.full(n_methods, np.nan), np.zeros(n_methods, int), np.full(n_methods, "", object)
    if n_methods == 1:
        verdict[:] = "alone"
        return verdict, p_value, n_pairs, name
    losses = np.column_stack([_loss(column, goal) for column in values.T])
    known = ~np.isnan(losses)
    considered = tried.all(axis=1) & known.any(axis=1)
    failed = (tried & ~known)[known.any(axis=1)].any(axis=0)
    if considered.any():
        means = np.where(known[considered].all(axis=0), losses[considered].mean(axis=0), np.inf)
    else:  # no split that all were run on: each method by the splits that it finished
        means = np.where(failed, np.inf, np.nanmean(losses, axis=0))
    best = int(np.argmin(means))
    if not means[best] < np.inf:
        return verdict, p_value, n_pairs, name

    rivals = np.arange(n_methods) != best
    with np.errstate(invalid="ignore"):  # two infinities are no pair
        differences = losses[:, rivals] - losses[:, [best]]
    pairs = (~np.isnan(differences)).sum(axis=0)
    tests = paired_tests(differences, n_rivals=int((pairs >= FEWEST_PAIRS).sum()))
    adjusted = holm(tests.p_value)
    not_worse = np.where(failed[rivals], "failed", "tied")
    judged = np.where((adjusted <= ALPHA) & (tests.sign > 0), "worse", not_worse)
    verdict[rivals] = np.where(np.isnan(adjusted), "untested", judged)
    verdict[best] = "best"
    p_value[rivals], n_pairs[rivals], name[rivals] = adjusted, pairs, tests.name
    return verdict, p_value, n_pairs, name


def _loss(column: np.ndarray, goal: str | float) -> np.ndarray:
    known = ~np.isnan(column)
    losses = column.copy()
    losses[known] = loss(column[known], goal)
    return losses
