"""How much better than a reference, in units that mean something."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from leaderboards.metrics import badness, loss
from leaderboards.stats.paired import Paired, blocks
from leaderboards.stats.resampling import enough, interval, resampled_losses, resampled_over_datasets

REFERENCE = "map"

# Metrics whose ratio is what counts; of all others it is the difference.
RATIOS = r"rmse.*|crps|rel_(mean|cov)|w2_scaled|.*_seconds(_.*)?|peak_memory_mib|sgd_ratio"
NATS = r"(corrupted_)?nmll.*|kl"

BY_DATASET = ["dataset", "method", "improvement", "stderr", "n"]
OVERALL = ["method", "improvement", "low", "high", "n_datasets", "n_lacking", "n_absent"]


class Relative(NamedTuple):
    """Improvement over `reference`.

    Attributes:
        unit: "times" for ratios, where values are method / reference and below 1 is better; "nats" or "" (the metric's
            own) for differences, where values are what the method's loss is lower by and above 0 is better.
        by_dataset: columns dataset, method, improvement, stderr, n. NaN where either lacks a split considered. stderr
            is that of paired differences over n splits; of log-ratios it is that of the logarithm (delta method over
            paired splits).
        overall: columns method, improvement, low, high, n_datasets, n_lacking, n_absent: the mean over the n_datasets
            that have a number (the geometric mean of ratios), with the central 95 % of bootstrap resamples of data
            sets and splits, NaN where splits are too few (`resampling.enough`); on n_lacking and n_absent data sets of
            the reference there is none. In the order of improvement.
    """

    reference: str
    unit: str
    by_dataset: pd.DataFrame
    overall: pd.DataFrame


def relative(table: Paired, reference: str = REFERENCE) -> Relative:
    """The improvement of every other method of `table` over `reference`, from means over the splits considered.

    Raises:
        ValueError: if `table` has no column `reference`.
    """
    if reference not in table.methods:
        raise ValueError(f"nothing can be relative to '{reference}': methods here are {', '.join(table.methods)}")
    is_ratio = bool(re.fullmatch(RATIOS, table.metric))
    unit = "times" if is_ratio else "nats" if re.fullmatch(NATS, table.metric) else ""
    found = blocks(table)
    place = table.methods.index(reference)
    void = found.lacking | found.absent
    void = void.to_numpy() | void[[reference]].to_numpy()
    others = [method for method in table.methods if method != reference]

    rows = []
    for (dataset, values), blank in zip(found.arrays.items(), void, strict=True):
        change, stderr = _change(values, place, table.goal, is_ratio)
        frame = {"dataset": dataset, "method": table.methods, "improvement": change, "stderr": stderr, "n": len(values)}
        rows.append(pd.DataFrame(frame).assign(improvement=np.where(blank, np.nan, change)))
        rows[-1].loc[blank, ["stderr", "n"]] = [np.nan, 0]
    by_dataset = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=BY_DATASET)
    by_dataset = by_dataset[by_dataset["method"] != reference].reset_index(drop=True)
    if not rows:
        return Relative(reference, unit, by_dataset, pd.DataFrame(columns=OVERALL))

    rng = np.random.default_rng(0)
    draws = _improvement(resampled_losses(found.arrays, table.goal, rng), place, is_ratio)
    draws[:, void] = np.nan
    point = _improvement(
        np.stack([badness(v.mean(axis=0), table.goal) for v in found.arrays.values()])[None], place, is_ratio
    )[0]
    point[void] = np.nan
    low, high = interval(resampled_over_datasets(draws, rng))
    with np.errstate(invalid="ignore"):
        middle = np.nansum(point, axis=0) / (~void).sum(axis=0)
    if not enough(found.arrays):
        low = high = np.full(len(middle), np.nan)
    low, high, middle = (np.exp(x) if is_ratio else x for x in (low, high, middle))
    overall = pd.DataFrame(
        {
            "improvement": middle,
            "low": low,
            "high": high,
            "n_datasets": (~void).sum(axis=0),
            "n_lacking": found.lacking.sum().to_numpy(),
            "n_absent": found.absent.sum().to_numpy(),
        },
        index=pd.Index(table.methods, name="method"),
    )
    overall = overall.loc[others].reset_index().sort_values(["improvement", "method"], ascending=[is_ratio, True])
    return Relative(reference, unit, by_dataset, overall.reset_index(drop=True)[OVERALL])


def _improvement(losses: np.ndarray, place: int, is_ratio: bool) -> np.ndarray:
    """From losses (..., M): log of method / reference, or reference - method."""
    of_reference = losses[..., [place]]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(losses) - np.log(of_reference) if is_ratio else of_reference - losses


def _change(values: np.ndarray, place: int, goal: str | float, is_ratio: bool) -> tuple[np.ndarray, np.ndarray]:
    """Improvement and standard error (M,) each, from values (S, M)."""
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
