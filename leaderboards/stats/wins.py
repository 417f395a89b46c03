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
    here = [names == dataset for dataset in table.datasets]
    by_dataset = [_rates(values[rows], tried[rows], table.goal) for rows in here]
    shape = (len(table.methods), len(table.methods))
    stacked = np.stack(by_dataset) if by_dataset else np.empty((0, *shape))
    counts, rates = (~np.isnan(stacked)).sum(axis=0), mean_of_known(stacked)
    np.fill_diagonal(rates, np.nan)
    return Wins(
        pd.DataFrame(rates, table.methods, table.methods),
        pd.DataFrame(counts, table.methods, table.methods),
        pd.Series(mean_of_known(rates.T), table.methods),
    )


def _rates(values: np.ndarray, tried: np.ndarray, goal: str | float) -> np.ndarray:
    """Return the win rates (M, M) on one data set, from values and whether they were tried (S, M)."""
    losses = np.where(np.isnan(values), np.inf, badness(values, goal))
    failed = np.isnan(values)
    lower = losses[:, :, None] < losses[:, None, :]
    equal = losses[:, :, None] == losses[:, None, :]
    measured_wins = equal & ~failed[:, :, None] & failed[:, None, :]  # an infinite value still beats none
    measured_loses = equal & failed[:, :, None] & ~failed[:, None, :]
    scores = np.where(measured_wins, 1.0, np.where(measured_loses, 0.0, lower + 0.5 * equal))
    scores[~(tried[:, :, None] & tried[:, None, :])] = np.nan
    return mean_of_known(scores)
