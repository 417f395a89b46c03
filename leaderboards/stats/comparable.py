"""The comparable results of a ranking: what was asked for, and the part of it in which no cell is missing."""

from collections.abc import Collection
from math import nan
from typing import NamedTuple, TypedDict

import numpy as np
import pandas as pd

from leaderboards.stats.balanced import balanced
from leaderboards.stats.dependence import ratios
from leaderboards.stats.families import representatives
from leaderboards.stats.paired import paired
from leaderboards.wording.formats import counted, visible
from methods import BASELINE

REFERENCE = "map"


class Options(TypedDict, total=False):
    """Arguments of `rank` and `rank_on_datasets` that may be left out.

    Attributes:
        methods: those to rank, and no others. Data sets that one of them was not run on are left out. By default all
            but `constant`, which is no competitor.
        datasets: those to use; all by default.
        families: whether one method represents each family, where no methods are named; true by default.
        reference: method that differences refer to; `REFERENCE` by default.
    """

    methods: Collection[str]
    datasets: Collection[str]
    families: bool
    reference: str


class Request(NamedTuple):
    """A request for a ranking.

    Attributes:
        rows: cells of the methods to rank and of the reference; the column `ranked` is true of the former.
        where: suite, preset and metric.
        methods: those that were named; empty if none were.
        reference: method that differences refer to.
        notes: a sentence if one method represents each family.
    """

    rows: pd.DataFrame
    where: tuple[str, str, str]
    methods: Collection[str]
    reference: str
    notes: list[str]


def request(
    cells: pd.DataFrame,
    suite: str,
    preset: str,
    metric: str,
    *,
    methods: Collection[str] = (),
    datasets: Collection[str] = (),
    families: bool = True,
    reference: str = REFERENCE,
) -> Request:
    """Return what is ranked; see `rank` and `Options`."""
    rows = cells[(cells["suite"] == suite) & (cells["preset"] == preset)]
    if datasets:
        rows = rows[rows["dataset"].isin(list(datasets))]
    shown = list(methods) or [name for name in paired(rows, suite, preset, metric).methods if name != BASELINE]
    notes: list[str] = []
    if families and not methods:
        chosen = representatives(rows[rows["method"].isin(shown)], reference)
        if len(chosen) < len(shown):
            n_variants = counted(len(shown), "variant")
            notes = [f"One method of each family, by validation score; {n_variants} were run."]
        shown = list(chosen.values())
    rows = rows[rows["method"].isin([*shown, reference])]
    rows = rows.assign(ranked=rows["method"].isin(shown))
    return Request(rows, (suite, preset, metric), methods, reference, notes)


class SplitScores(NamedTuple):
    """Results on one data set.

    Attributes:
        scores: values of the metric (S, M), NaN where a method failed.
        reference: values of the reference (S,); NaN where it has none.
        ratio: of the split scheme.
    """

    scores: np.ndarray
    reference: np.ndarray
    ratio: float


class Comparable(NamedTuple):
    """The data sets of a ranking, by name, and what all have in common."""

    by_dataset: dict[str, SplitScores]
    methods: list[str]
    metric: str
    goal: str | float
    reference: str
    notes: list[str]


def comparable(requested: Request, rows: pd.DataFrame) -> Comparable:
    """Return the comparable part of some of the rows: every method was run on every split of every data set."""
    ranked = paired(rows[rows["ranked"]], *requested.where)
    part = balanced(ranked, requested.methods)
    notes, table, reference = [*requested.notes, *part.left_out], part.table, requested.reference
    values = paired(rows[rows["method"] == reference], *requested.where).observed
    of_reference = pd.Series(nan, table.observed.index)
    if reference in values:
        of_reference = values[reference].reindex(table.observed.index)
    if of_reference.isna().any():
        notes.append(f"No differences: {visible(reference)} has no value on some split.")
    by_ratio = ratios(rows)
    by_dataset = {
        str(dataset): SplitScores(
            values.to_numpy(float), of_reference.loc[values.index].to_numpy(float), by_ratio[str(dataset)]
        )
        for dataset, values in table.observed.groupby(level="dataset")
    }
    unknown = [visible(name) for name, board in by_dataset.items() if np.isnan(board.ratio) and len(board.scores) > 1]
    if unknown:
        notes.append(f"Not tested by splits, as all splits have the same test rows: {', '.join(unknown)}.")
    named = "" if of_reference.isna().all() else reference
    return Comparable(by_dataset, table.methods, table.metric, table.goal, named, notes)
