"""Ranks of methods per data set.

On a data set, a method's loss is that of its mean over the splits considered. Low is good: the loss is the metric, its
negative, or the distance from its nominal value. Methods that have a value on all those splits are ranked by their
loss; equal losses share the mean of their ranks. Methods that failed or were not run share the last ranks.
"""

import numpy as np
import pandas as pd
import scipy

from leaderboards.metrics import badness
from leaderboards.stats.paired import Paired, blocks

RANKS = ["dataset", "method", "rank", "failed", "not_run"]


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
