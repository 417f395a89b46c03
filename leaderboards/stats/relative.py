"""Improvement over a reference method: ratios, or differences in the unit of the metric."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from leaderboards.metrics import badness, loss
from leaderboards.stats.bootstrap import enough, interval, resampled_losses, resampled_over_datasets
from leaderboards.stats.paired import Paired, blocks

REFERENCE = "map"

# Metrics that are compared by ratio; all others are compared by difference.
RATIOS = r"rmse.*|crps|rel_(mean|cov)|w2_scaled|.*_seconds(_.*)?|peak_memory_mib|sgd_ratio"
NATS = r"(corrupted_)?nmll.*|kl"

BY_DATASET = ["dataset", "method", "improvement", "stderr", "n"]
OVERALL = ["method", "improvement", "low", "high", "n_datasets", "n_failed", "n_not_run"]


def compared_by_ratio(metric: str) -> bool:
    """Return whether values of a metric are compared by their ratio."""
    return bool(re.fullmatch(RATIOS, metric))


def unit_of_difference(metric: str) -> str:
    """Return the unit of a difference between two values of a metric: "nats", or "" for the metric's own."""
    return "nats" if re.fullmatch(NATS, metric) else ""


class Relative(NamedTuple):
    """Improvement of methods over a reference.

    Attributes:
        reference: name of the reference method.
        unit: "times" for ratios, method / reference, below 1 is better; "nats" or "" (the metric's own unit) for
            differences, the reference's loss less the method's, above 0 is better.
        by_dataset: columns dataset, method, improvement, stderr and n, the number of splits. stderr is that of paired
            differences over splits; for ratios, the ratio times the standard error of its logarithm (delta method).
            NaN where the method or the reference failed or was not run.
        overall: columns method, improvement, low, high, n_datasets, n_failed and n_not_run, ordered by improvement.
            improvement is the mean over the n_datasets that have a number (the geometric mean of ratios). low and high
            are the ends of the central 95 % of bootstrap resamples of data sets and splits, NaN with too few splits
            (`bootstrap.enough`). n_failed and n_not_run count data sets without a number.
    """

    reference: str
    unit: str
    by_dataset: pd.DataFrame
    overall: pd.DataFrame


def relative(table: Paired, reference: str = REFERENCE) -> Relative:
    """Return the improvement of every other method over the reference, from means over the splits considered.

    Raises:
        ValueError: The table has no method `reference`.
    """
    if reference not in table.methods:
        raise ValueError(
            f"reference '{reference}' has no results in this table; choose one of {', '.join(table.methods)}"
        )
    is_ratio = compared_by_ratio(table.metric)
    unit = "times" if is_ratio else unit_of_difference(table.metric)
    by_block = blocks(table)
    place = table.methods.index(reference)
    missing = by_block.failed | by_block.not_run
    missing = missing.to_numpy() | missing[[reference]].to_numpy()
    others = [method for method in table.methods if method != reference]

    rows = []
    for (dataset, values), missing_here in zip(by_block.arrays.items(), missing, strict=True):
        change, stderr = _change(values, place, table.goal, is_ratio)
        columns = {
            "improvement": np.where(missing_here, np.nan, change),
            "stderr": np.where(missing_here, np.nan, stderr),
            "n": np.where(missing_here, 0, len(values)),
        }
        rows.append(pd.DataFrame({"dataset": dataset, "method": table.methods, **columns}))
    by_dataset = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=BY_DATASET)
    by_dataset = by_dataset[by_dataset["method"] != reference].reset_index(drop=True)
    if not rows:
        return Relative(reference, unit, by_dataset, pd.DataFrame(columns=OVERALL))

    rng = np.random.default_rng(0)
    draws = _improvement(resampled_losses(by_block.arrays, table.goal, rng), place, is_ratio)
    draws[:, missing] = np.nan
    point = _improvement(
        np.stack([badness(v.mean(axis=0), table.goal) for v in by_block.arrays.values()])[None], place, is_ratio
    )[0]
    point[missing] = np.nan
    low, high = interval(resampled_over_datasets(draws, rng))
    with np.errstate(invalid="ignore"):
        middle = np.nansum(point, axis=0) / (~missing).sum(axis=0)
    if not enough(by_block.arrays):
        low = high = np.full(len(middle), np.nan)
    low, high, middle = (np.exp(x) if is_ratio else x for x in (low, high, middle))
    overall = pd.DataFrame(
        {
            "improvement": middle,
            "low": low,
            "high": high,
            "n_datasets": (~missing).sum(axis=0),
            "n_failed": by_block.failed.sum().to_numpy(),
            "n_not_run": by_block.not_run.sum().to_numpy(),
        },
        index=pd.Index(table.methods, name="method"),
    )
    overall = overall.loc[others].reset_index().sort_values(["improvement", "method"], ascending=[is_ratio, True])
    return Relative(reference, unit, by_dataset, overall.reset_index(drop=True)[OVERALL])


def _improvement(losses: np.ndarray, place: int, is_ratio: bool) -> np.ndarray:
    """Return log(loss / reference loss) or reference loss - loss (..., M); the reference is at `place`."""
    of_reference = losses[..., [place]]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(losses) - np.log(of_reference) if is_ratio else of_reference - losses


def _change(values: np.ndarray, place: int, goal: str | float, is_ratio: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return improvements and their standard errors, (M,) each, from values (S, M) of one data set."""
    losses = np.column_stack([loss(column, goal) for column in values.T])
    means = losses.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if is_ratio:
            ratio = means / means[place]
            parts = losses / means - (losses / means)[:, [place]]
            return ratio, ratio * _sem(parts)
        parts = losses[:, [place]] - losses
        return means[place] - means, _sem(parts)


def _sem(parts: np.ndarray) -> np.ndarray:
    n = len(parts)
    return parts.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(parts.shape[1], np.nan)
