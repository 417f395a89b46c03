"""Ranks of methods per data set, and their mean over data sets.

On a data set, a method's loss is that of its mean over the splits considered. Low is good: the loss is the metric, its
negative, or the distance from its nominal value. Methods that have a value on all those splits are ranked by their
loss; equal losses share the mean of their ranks. Methods that failed or were not run share the last ranks.
"""

import numpy as np
import pandas as pd
import scipy

from leaderboards.metrics import badness
from leaderboards.stats.bootstrap import enough, interval, resampled_losses, resampled_over_datasets
from leaderboards.stats.max_test import significantly_worse_than_best
from leaderboards.stats.paired import Paired, blocks

RANKS = ["dataset", "method", "rank", "failed", "not_run"]
MEAN_RANKS = ["method", "mean_rank", "low", "high", "behind", "n_datasets", "n_failed", "n_not_run"]


def ranks(table: Paired) -> pd.DataFrame:
    """Return one row per data set and method.

    Columns: dataset, method, `rank`, `failed` (run, but without a value on some split considered) and `not_run`.
    """
    by_dataset = blocks(table)
    frames = []
    for dataset, values in by_dataset.arrays.items():
        failed, not_run = (frame.loc[dataset].to_numpy() for frame in (by_dataset.failed, by_dataset.not_run))
        with np.errstate(invalid="ignore"):
            losses = badness(values.mean(axis=0), table.goal)
        columns = {"rank": ranks_of(losses, ~(failed | not_run)), "failed": failed, "not_run": not_run}
        frames.append(pd.DataFrame({"dataset": dataset, "method": table.methods, **columns}))
    return pd.concat(frames, ignore_index=True)[RANKS] if frames else pd.DataFrame(columns=RANKS)


def mean_ranks(table: Paired) -> pd.DataFrame:
    """Return one row per method, the best mean rank first.

    Columns:
        mean_rank: mean over data sets of the rank.
        low, high: ends of the central 95 % of 2000 bootstrap resamples of the data sets and, within each, of the
            splits. All methods share the resamples, and the seed is fixed. A method that failed or was not run on a
            data set keeps the last ranks there in every resample. NaN with too few splits (`bootstrap.enough`).
        behind: whether the mean rank is significantly worse than the best (`max_test`); False with too few splits.
        n_datasets: number of data sets ranked.
        n_failed, n_not_run: how many of them the method failed on, or was not run on.
    """
    by_dataset = blocks(table)
    if not by_dataset.arrays:
        return pd.DataFrame(columns=MEAN_RANKS)
    rng = np.random.default_rng(0)
    losses = resampled_losses(by_dataset.arrays, table.goal, rng)
    complete = ~(by_dataset.failed | by_dataset.not_run).to_numpy()
    draws = np.stack([ranks_of(losses[:, d], complete[d]) for d in range(len(complete))], axis=1)
    resampled = resampled_over_datasets(draws, rng)
    low, high = interval(resampled)
    mean_rank = ranks(table).groupby("method")["rank"].mean()
    behind = significantly_worse_than_best(mean_rank[table.methods].to_numpy(), resampled)
    frame = pd.DataFrame(
        {
            "mean_rank": mean_rank,
            "low": pd.Series(low, table.methods),
            "high": pd.Series(high, table.methods),
            "behind": pd.Series(behind, table.methods),
            "n_datasets": len(by_dataset.arrays),
            "n_failed": by_dataset.failed.sum(),
            "n_not_run": by_dataset.not_run.sum(),
        }
    )
    if not enough(by_dataset.arrays):
        frame[["low", "high"]], frame["behind"] = np.nan, False
    return frame.rename_axis("method").reset_index().sort_values(["mean_rank", "method"], ignore_index=True)[MEAN_RANKS]


def ranks_of(losses: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Return ranks (..., M), from 1, of losses (..., M).

    Args:
        losses: low is good.
        complete: bool (M,); methods that are not complete share the last ranks, whatever their losses.
    """
    n_complete, n_methods = complete.sum(), len(complete)
    ranked = np.full(losses.shape, (n_complete + 1 + n_methods) / 2)
    ranked[..., complete] = scipy.stats.rankdata(losses[..., complete], axis=-1)
    return ranked
