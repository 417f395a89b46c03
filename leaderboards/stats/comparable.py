"""The comparable results of a ranking: what was asked for, and the part of it in which no cell is missing."""

from collections.abc import Collection
from math import nan
from typing import NamedTuple, TypedDict

import numpy as np
import pandas as pd

from leaderboards.stats.balanced import balanced
from leaderboards.stats.dependence import ratios
from leaderboards.stats.families import representatives
from leaderboards.stats.paired import Paired, paired
from leaderboards.stats.schemes import flagged_in_words, splits_of
from leaderboards.wording.formats import counted, visible
from methods import UNRANKED

REFERENCE = "map"

# Columns of cells that a ranking uses, besides its metric.
COLUMNS = (
    *("suite", "dataset", "method", "preset", "split", "status", "schema_version", "n_train", "n_test"),
    *("validation_nmll", "validation_w2_scaled"),
)


class Options(TypedDict, total=False):
    """Arguments of `rank` and `rank_on_datasets` that may be left out.

    Attributes:
        methods: those to rank, and no others. Data sets that one of them was not run on are left out. By default all
            but `constant`, which is no competitor.
        datasets: those to use; all by default.
        families: whether one method represents each family, where no methods are named; true by default.
        reference: method that differences refer to; `REFERENCE` by default.
        power: whether to say how probable it is that a method is the best, and what further results would settle; true
            by default. It takes most of the time.
    """

    methods: Collection[str]
    datasets: Collection[str]
    families: bool
    reference: str
    power: bool


class Request(NamedTuple):
    """A request for a ranking.

    Attributes:
        rows: cells of the methods to rank and of the reference; the column `ranked` is true of the former.
        where: suite, preset and metric.
        methods: those that were named; empty if none were.
        reference: method that differences refer to.
        notes: sentences on flagged splits, and if one method represents each family.
        power: as of `Options`.
    """

    rows: pd.DataFrame
    where: tuple[str, str, str]
    methods: Collection[str]
    reference: str
    notes: list[str]
    power: bool


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
    power: bool = True,
) -> Request:
    """Return what is ranked; see `rank` and `Options`."""
    used = [name for name in (*COLUMNS, metric) if name in cells]  # of tables made by hand, not all are there
    rows = cells.loc[(cells["suite"] == suite) & (cells["preset"] == preset), used]
    if datasets:
        rows = rows[rows["dataset"].isin(list(datasets))]
    notes = [note] if (note := flagged_in_words(rows)) else []
    shown = list(methods) or [name for name in paired(rows, suite, preset, metric).methods if name not in UNRANKED]
    if families and not methods:
        chosen = representatives(rows[rows["method"].isin(shown)], reference)
        if len(chosen) < len(shown):
            n_variants = counted(len(shown), "variant")
            notes += [f"One method of each family, by validation score; {n_variants} were run."]
        shown = list(chosen.values())
    rows = rows[rows["method"].isin([*shown, reference])]
    rows = rows.assign(ranked=rows["method"].isin(shown))
    return Request(rows, (suite, preset, metric), methods, reference, notes, power)


class SplitScores(NamedTuple):
    """Results on one data set.

    Attributes:
        scores: values of the metric (S, M), NaN where a method failed.
        reference: values of the reference (S,); NaN where it has none.
        ratio: of the split scheme.
        by_median: whether the median over splits represents a method, and not the mean.
    """

    scores: np.ndarray
    reference: np.ndarray
    ratio: float
    by_median: bool


class Comparable(NamedTuple):
    """The data sets of a ranking, by name, and what all have in common."""

    by_dataset: dict[str, SplitScores]
    methods: list[str]
    metric: str
    goal: str | float
    reference: str
    notes: list[str]


def comparable(requested: Request) -> Comparable:
    """Return the comparable part of what is ranked: every method was run on every split of every data set."""
    return _comparable(requested, *_tables(requested))


def comparable_on_each(requested: Request) -> list[Comparable]:
    """Return the comparable part on each data set by itself, where there is one."""
    ranked, reference, by_ratio = _tables(requested)
    parts = []
    for dataset in ranked.datasets:
        here = ranked.observed.index.get_level_values("dataset") == dataset
        tried = ranked.tried.loc[here]
        tried = tried.loc[:, tried.any()]
        table = ranked._replace(observed=ranked.observed.loc[here, tried.columns], tried=tried)
        parts.append(_comparable(requested, table, reference, by_ratio))
    return [part for part in parts if part.by_dataset]


def _tables(requested: Request) -> tuple[Paired, pd.Series, dict[str, float]]:
    """Return the values of the ranked methods, those of the reference, and the ratio of each data set's splits."""
    rows = requested.rows
    ranked = paired(rows[rows["ranked"]], *requested.where)
    values = paired(rows[rows["method"] == requested.reference], *requested.where).observed
    of_reference = pd.Series(nan, ranked.observed.index)
    if requested.reference in values:
        of_reference = values[requested.reference].reindex(ranked.observed.index)
    return ranked, of_reference, ratios(rows)


def _comparable(requested: Request, ranked: Paired, reference: pd.Series, by_ratio: dict[str, float]) -> Comparable:
    part = balanced(ranked, requested.methods)
    notes, table, of_reference = (
        [*requested.notes, *part.left_out],
        part.table,
        reference.loc[part.table.observed.index],
    )
    if of_reference.isna().any():
        notes.append(f"No differences: {visible(requested.reference)} has no value on some split.")
    by_dataset = {
        str(dataset): SplitScores(
            values.to_numpy(float),
            of_reference.loc[values.index].to_numpy(float),
            by_ratio[str(dataset)],
            splits_of(str(dataset)).along_features,
        )
        for dataset, values in table.observed.groupby(level="dataset")
    }
    unknown = [visible(name) for name, board in by_dataset.items() if np.isnan(board.ratio) and len(board.scores) > 1]
    if unknown:
        notes.append(f"Not tested by splits, as all splits have the same test rows: {', '.join(unknown)}.")
    named = "" if of_reference.isna().all() else requested.reference
    return Comparable(by_dataset, table.methods, table.metric, table.goal, named, notes)
