"""Reduction of a table of splits x methods to a part in which every method was run on every split."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.stats.paired import Paired
from lockstep_bench.leaderboards.wording.formats import counted, listed, visible

MOST_LISTED = 6


class Balanced(NamedTuple):
    """Splits and methods such that every method was run on every split.

    Attributes:
        table: the reduced table; NaN means that a method was run on a split and failed.
        lines: which splits of the whole table are left.
        left_out: sentences on the methods, data sets and splits that were left out.
    """

    table: Paired
    lines: np.ndarray
    left_out: list[str]


def balanced(table: Paired, keep: Collection[str] = ()) -> Balanced:
    """Return a part of a table in which every method was run on every split.

    Splits on which no method has a value are left out first. Then methods are added in the order of how many splits
    they were run on, the most first. As many are kept as maximise the number of comparisons: pairs of methods times the
    splits that all of them were run on. A method is thus neither ranked on a data set that it was not run on, nor
    ranked last there.

    Args:
        table: values of a metric, splits x methods.
        keep: the methods to keep. All others are left out, and so are the splits on which one of them was not run.
            Empty to choose the methods as described.
    """
    known = ~np.isnan(table.observed.to_numpy(float)).all(axis=1)
    tried = table.tried.loc[known]
    methods = [method for method in tried if method in keep] if keep else _chosen(tried)
    lines = known & np.all(table.tried[methods].to_numpy(bool), axis=1)
    part = table._replace(observed=table.observed.loc[lines, methods], tried=table.tried.loc[lines, methods])
    return Balanced(part, lines, _sentences(table, part, lines))


def _chosen(tried: pd.DataFrame) -> list[str]:
    """Return the methods, in the order of the columns, whose common splits give the most comparisons."""
    n_tried = dict(zip(tried, tried.to_numpy(bool).sum(axis=0).tolist(), strict=True))
    order = sorted(map(str, tried), key=lambda method: -n_tried[method])
    common = np.logical_and.accumulate(tried[order].to_numpy(bool), axis=1).sum(axis=0)
    n_methods = np.arange(1, len(order) + 1)
    comparisons = n_methods * (n_methods - 1) / 2 * common
    most = len(order) - int(np.argmax(comparisons[::-1])) if comparisons.any() else min(len(order), 1)
    chosen = set(order[:most])
    return [str(method) for method in tried if method in chosen]


def _sentences(whole: Paired, part: Paired, lines: np.ndarray) -> list[str]:
    sentences = []
    left_in = set(part.methods)
    gone = [method for method in whole.methods if method not in left_in]
    if gone:
        reasons = [f"{visible(method)} ({_extent(whole.tried[method])})" for method in gone[:MOST_LISTED]]
        said = listed([*reasons, *gone[MOST_LISTED:]], MOST_LISTED)  # the others are only counted
        sentences.append(f"Left out, because not run everywhere: {said}.")
    with_splits = set(part.datasets)
    absent = [dataset for dataset in whole.datasets if dataset not in with_splits]
    if absent:
        reasons = [f"{visible(dataset)} ({_not_run(whole, part, dataset)})" for dataset in absent]
        sentences.append(f"Data sets left out: {listed(reasons, MOST_LISTED)}.")
    n_splits = int((~whole.observed.index[~lines].get_level_values("dataset").isin(absent)).sum())
    if n_splits:
        sentences.append(f"Of the other data sets, {counted(n_splits, 'split')} that not all methods finished or ran.")
    return sentences


def _extent(tried: pd.Series) -> str:
    """Return a text on how many splits and data sets a method was run on: "5 of 20 splits, 1 of 4 data sets"."""
    by_dataset = tried.groupby(level="dataset").any()
    return (
        f"{tried.sum()} of {counted(len(tried), 'split')}, {by_dataset.sum()} of {counted(len(by_dataset), 'data set')}"
    )


def _not_run(whole: Paired, part: Paired, dataset: str) -> str:
    rows = whole.tried.index.get_level_values("dataset") == dataset
    absent = [m for m in part.methods if not whole.tried.loc[rows, m].all()]
    return f"not run: {listed([visible(method) for method in absent], MOST_LISTED)}" if absent else "no value"
