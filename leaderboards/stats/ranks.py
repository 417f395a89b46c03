"""Ranks per data set, with ties told by tests, and their mean over data sets.

On a data set a method's loss is that of its mean over the splits considered (low is good: the metric itself, its
negative, or the distance from its nominal value). Methods that have a value on all those splits are ranked by it, equal
ones sharing the mean of their places. The others, and those that were never tried there, share the last places.

Tie groups: the best of all, with those that the paired tests of `leaderboards.stats.ties` cannot tell from it; then
the best
of the rest with its own, and so on. Methods of a group share the mean of their places (`shared_rank`). Where there are
too few splits to test, each is a group of its own unless equal.
"""

import numpy as np
import pandas as pd
from scipy import stats

from leaderboards.metrics import badness, loss
from leaderboards.stats.behind import behind_the_best
from leaderboards.stats.paired import Paired, blocks, mean_of_known
from leaderboards.stats.resampling import enough, interval, resampled_losses, resampled_over_datasets
from leaderboards.stats.ties import tied_with_best

RANKS = ["dataset", "method", "mean", "n", "n_lacking", "rank", "group", "shared_rank", "standing"]
MEAN_RANKS = [
    "method",
    "mean_rank",
    "low",
    "high",
    "behind",
    "mean_shared_rank",
    "n_first",
    "n_datasets",
    "n_lacking",
    "n_absent",
]


def ranks(table: Paired) -> pd.DataFrame:
    """One row per data set and method.

    Columns:
        mean: over the splits considered that have a value; n of these, and n_lacking that have none.
        rank, group (from 1), shared_rank: see above; group is 0 for methods that are not ranked by value.
        standing: "best", "tied" (of group 1), "worse", "undecided" (too few splits to test), "alone" (no rival),
            "lacking" (tried, without a value on some split considered), "absent" (never tried here).
    """
    found = blocks(table)
    rows = []
    for dataset, values in found.arrays.items():
        complete = ~(found.lacking.loc[dataset] | found.absent.loc[dataset]).to_numpy()
        absent = found.absent.loc[dataset].to_numpy()
        with np.errstate(invalid="ignore"):
            losses = badness(values.mean(axis=0), table.goal)
        group, untested = _groups(values, complete, table.goal, losses)
        n = (~np.isnan(values)).sum(axis=0)
        frame = pd.DataFrame(
            {
                "dataset": dataset,
                "method": table.methods,
                "mean": mean_of_known(values),
                "n": n,
                "n_lacking": np.where(absent, 0, len(values) - n),
                "rank": places(losses, complete),
                "group": group,
                "shared_rank": places(group, complete),
                "standing": _standings(losses, complete, absent, group, untested),
            }
        )
        rows.append(frame)
    return pd.concat(rows, ignore_index=True)[RANKS] if rows else pd.DataFrame(columns=RANKS)


def mean_ranks(table: Paired, told: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row per method, the best mean rank first.

    `told` is what `ranks` says of `table`, where that is known already; it is the slow part.

    Columns:
        mean_rank: mean over data sets of `rank`, its `low` and `high` ends the central 95 % of 2000 bootstrap resamples
            of the data sets and, within each, of the splits; the same resamples for every method, from a fixed seed.
            What is lacking or absent stays so in every resample. NaN where splits are too few (`resampling.enough`).
        behind: whether it is behind the first by more than chance; see `behind.behind_the_best`. False there too.
        mean_shared_rank: mean over data sets of `shared_rank`.
        n_first: data sets where the method is best or tied with the best.
        n_datasets: data sets ranked; on n_lacking and n_absent of them the method shares the last places.
    """
    told = ranks(table) if told is None else told
    if told.empty:
        return pd.DataFrame(columns=MEAN_RANKS)
    found = blocks(table)
    rng = np.random.default_rng(0)
    losses = resampled_losses(found.arrays, table.goal, rng)
    complete = ~(found.lacking | found.absent).to_numpy()
    draws = np.stack([places(losses[:, d], complete[d]) for d in range(len(complete))], axis=1)
    resampled = resampled_over_datasets(draws, rng)
    low, high = interval(resampled)
    by_method = told.groupby("method")
    mean_rank = by_method["rank"].mean()
    behind = behind_the_best(mean_rank[table.methods].to_numpy(), resampled)
    frame = pd.DataFrame(
        {
            "mean_rank": mean_rank,
            "low": pd.Series(low, table.methods),
            "high": pd.Series(high, table.methods),
            "behind": pd.Series(behind, table.methods),
            "mean_shared_rank": by_method["shared_rank"].mean(),
            "n_first": told["standing"].isin(["best", "tied", "alone"]).groupby(told["method"]).sum(),
            "n_datasets": len(found.arrays),
            "n_lacking": found.lacking.sum(),
            "n_absent": found.absent.sum(),
        }
    )
    if not enough(found.arrays):
        frame[["low", "high"]], frame["behind"] = np.nan, False
    return frame.rename_axis("method").reset_index().sort_values(["mean_rank", "method"], ignore_index=True)[MEAN_RANKS]


def places(losses: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Ranks (..., M) from 1 by `losses` (..., M) among the methods `complete` (M,); the others share what is left."""
    n_complete, n_methods = complete.sum(), len(complete)
    ranked = np.full(losses.shape, (n_complete + 1 + n_methods) / 2)
    ranked[..., complete] = stats.rankdata(losses[..., complete], axis=-1)
    return ranked


def _groups(
    values: np.ndarray, complete: np.ndarray, goal: str | float, losses: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The tie group (M,) of each method, from 1, or 0 if it is not complete; which rivals of the best went untested."""
    group, untested = np.zeros(len(complete), int), np.zeros(len(complete), bool)
    per_split = np.column_stack([loss(column, goal) for column in values.T])
    left = np.flatnonzero(complete)
    while left.size:
        best = left[np.argmin(losses[left])]
        rivals = left[left != best]
        with np.errstate(invalid="ignore"):  # two infinities are no pair
            tied = tied_with_best(per_split[:, rivals] - per_split[:, [best]])
        if not group.any():
            untested[rivals] = np.isnan(tied)
        same = (tied == 1) | (losses[rivals] == losses[best])
        group[[best, *rivals[same]]] = group.max() + 1
        left = rivals[~same]
    return group, untested


def _standings(
    losses: np.ndarray, complete: np.ndarray, absent: np.ndarray, group: np.ndarray, untested: np.ndarray
) -> np.ndarray:
    standing = np.where(absent, "absent", "lacking").astype(object)
    ranked = np.flatnonzero(complete)
    if not ranked.size:
        return standing
    best = ranked[np.argmin(losses[ranked])]
    if (~absent).sum() == 1:
        standing[best] = "alone"
    elif losses[best] == np.inf:
        standing[ranked] = "undecided"
    else:
        verdict = np.where(group == 1, "tied", np.where(untested, "undecided", "worse"))
        standing[ranked] = verdict[ranked]
        standing[best] = "best"
    return standing
