"""Win rates: how often each method beats each other method."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.metrics import badness
from lockstep_bench.leaderboards.stats.paired import Paired, mean_of_known


class Wins(NamedTuple):
    """Win rates of all pairs of methods.

    Attributes:
        rates: methods x methods, the fraction of comparisons that the row's method wins against the column's; NaN on
            the diagonal, and where the two share no data set.
        n_datasets: methods x methods, the number of data sets with a split that both were run on.
        overall: mean of each method's row of `rates`.
    """

    rates: pd.DataFrame
    n_datasets: pd.DataFrame
    overall: pd.Series


def win_rates(table: Paired) -> Wins:
    """Return win rates of all pairs of methods over the splits that both were run on.

    A split scores 1 if the row's loss is lower, 1/2 if the losses are equal, else 0. A split without a value loses
    against every value and draws with another split without one. The mean is taken over splits first, then over data
    sets, so that each data set counts once. Data sets that either method was not run on do not count for the pair, so
    rows may rest on different data sets (`n_datasets`).
    """
    values, tried = table.observed.to_numpy(float), table.tried.to_numpy(bool)
    names = table.observed.index.get_level_values("dataset")
    shape = (len(table.methods), len(table.methods))
    sums, counts = np.zeros(shape), np.zeros(shape, int)
    for dataset in table.datasets:
        rows = names == dataset
        of_dataset = _rates(values[rows], tried[rows], table.goal)
        known = ~np.isnan(of_dataset)
        sums[known] += of_dataset[known]
        counts += known
    with np.errstate(invalid="ignore"):
        rates = sums / counts
    np.fill_diagonal(rates, np.nan)
    return Wins(
        pd.DataFrame(rates, table.methods, table.methods),
        pd.DataFrame(counts, table.methods, table.methods),
        pd.Series(mean_of_known(rates.T), table.methods),
    )


def _rates(values: np.ndarray, tried: np.ndarray, goal: str | float) -> np.ndarray:
    """Return the win rates (M, M) on one data set, from values and whether they were tried (S, M)."""
    counts = np.int16 if values.size < np.iinfo(np.int16).max else np.int32  # small numbers are compared much faster
    places = np.unique(badness(values, goal), return_inverse=True)[1].reshape(values.shape).astype(counts)
    places[np.isnan(values)] = values.size  # the last: an infinite value still beats none
    wins = np.zeros((values.shape[1], values.shape[1]), counts)
    for place, run in zip(places, tried, strict=True):  # one split at a time, whose arrays stay in the cache
        beaten = place[:, None] < place
        wins += beaten if run.all() else beaten & run[:, None] & run
    shared = tried.T.astype(float) @ tried
    with np.errstate(invalid="ignore"):
        rates: np.ndarray = (wins + 0.5 * (shared - wins - wins.T)) / shared
        return rates
