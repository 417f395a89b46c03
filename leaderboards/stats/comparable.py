"""The comparable results of a ranking: what was asked for, and the part of it in which no cell is missing."""

from collections.abc import Collection
from math import nan
from typing import NamedTuple, TypedDict

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.stats.balanced import MOST_LISTED, balanced
from lockstep_bench.leaderboards.stats.dependence import FEWEST_EXPERIMENTS, effective, ratios
from lockstep_bench.leaderboards.stats.extents import extents
from lockstep_bench.leaderboards.stats.families import representatives
from lockstep_bench.leaderboards.stats.paired import Paired, failures_in_words, paired
from lockstep_bench.leaderboards.stats.schemes import flagged_in_words, splits_of
from lockstep_bench.leaderboards.wording.formats import counted, listed, visible
from lockstep_bench.methods import UNRANKED

REFERENCE = "map"

# Columns of cells that a ranking uses, besides its metric.
COLUMNS = (
    *("suite", "dataset", "method", "preset", "split", "status", "schema_version", "n_train", "n_test"),
    *("validation_nmll", "validation_w2_scaled"),
)


class ComparisonOptions(TypedDict, total=False):
    """Arguments of `rank` and `rank_on_datasets` that may be left out.

    Attributes:
        methods: those to rank, and no others. Data sets that one of them was not run on are left out. By default all
            but `constant`, which is no competitor.
        datasets: those to use; all by default.
        families: whether one method represents each family, where no methods are named; true by default.
        reference: method that differences refer to; `REFERENCE` by default.
        power: whether to say how probable it is that a method is the best, and what further results would decide; true
            by default. It takes most of the time.
    """

    methods: Collection[str]
    datasets: Collection[str]
    families: bool
    reference: str
    power: bool


class ComparisonRequest(NamedTuple):
    """A request for a ranking.

    Attributes:
        rows: cells of the methods to rank and of the reference; the column `ranked` is true of the former.
        where: suite, preset and metric.
        methods: those that were named; empty if none were.
        reference: method that differences refer to.
        notes: sentences on flagged splits, and if one method represents each family.
        power: see `ComparisonOptions`.
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
) -> ComparisonRequest:
    """Return what is ranked; see `rank` and `ComparisonOptions`."""
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
    return ComparisonRequest(rows, (suite, preset, metric), methods, reference, notes, power)


class SplitScores(NamedTuple):
    """Results on one data set.

    Attributes:
        scores: values of the metric (S, M), NaN where a method failed.
        reference: values of the reference (S,); NaN where it has none.
        ratio: ratio of the split scheme.
        by_median: whether the median over splits represents a method, and not the mean.
    """

    scores: np.ndarray
    reference: np.ndarray
    ratio: float
    by_median: bool


class Comparable(NamedTuple):
    """The data sets of a ranking, by name, and what all have in common.

    Attributes:
        by_dataset: results of all methods, by data set.
        methods: names.
        metric: name of the metric.
        goal: values that are good.
        reference: method that differences refer to; "" without one.
        notes: sentences on what was left out, and why.
        placed: methods that get a place here. On a data set where methods were run on different splits, those with
            exactly these; methods with more splits are rivals, whose own places are those on all their splits.
        fewer: whether others were run on more splits of the data set.
    """

    by_dataset: dict[str, SplitScores]
    methods: list[str]
    metric: str
    goal: str | float
    reference: str
    notes: list[str]
    placed: list[str]
    fewer: bool = False

    @property
    def tested(self) -> np.ndarray:
        """Booleans (M, M), the pairs of methods that are tested here: those with a method that gets a place."""
        placed = np.isin(self.methods, self.placed)
        tested: np.ndarray = placed[:, None] | placed
        return tested


def comparable(requested: ComparisonRequest) -> Comparable:
    """Return the comparable part of what is ranked: every method was run on every split of every data set."""
    ranked, reference, by_ratio = _tables(requested)
    if len(ranked.datasets) == 1 and (alone := _on_each(requested, ranked, reference, by_ratio)):
        return alone[0]
    return _comparable(requested, ranked, reference, by_ratio)


def comparable_on_each(requested: ComparisonRequest) -> list[Comparable]:
    """Return the comparable parts on each data set separately: methods are compared on all the splits that they share.

    The first part of a data set has the methods that were run on most splits. Where others were run on fewer, a part
    for each set of splits follows: these methods get a place among all that were run on the same splits. Where methods
    are named, all of them are compared on the splits that they share. Each part is one family of tests, so that
    the others (`Comparable.fewer`) cost the methods with most splits no power.
    """
    return _on_each(requested, *_tables(requested))


def _on_each(
    requested: ComparisonRequest, ranked: Paired, reference: pd.Series, by_ratio: dict[str, float]
) -> list[Comparable]:
    names = ranked.observed.index.get_level_values("dataset").to_numpy()
    values, tried, of_reference = (table.to_numpy() for table in (ranked.observed, ranked.tried, reference))
    methods, parts = np.array(ranked.methods, object), []
    for dataset in ranked.datasets:
        here = np.flatnonzero(names == dataset)
        run = tried[here].any(axis=0)
        if requested.methods:
            observed, asked = (frame.iloc[here][methods[run]] for frame in (ranked.observed, ranked.tried))
            parts.append(_comparable(requested, ranked._replace(observed=observed, tried=asked), reference, by_ratio))
            continue
        made: list[Comparable] = []
        for extent in extents(methods[run].tolist(), values[here][:, run], tried[here][:, run]):
            scores = {dataset: (np.asfortranarray(extent.values), of_reference[here[extent.splits]])}
            notes = [*requested.notes, *extent.notes]
            part = comparable_of(requested, notes, extent.compared, ranked.goal, scores, by_ratio)
            made.append(part._replace(placed=extent.methods, fewer=bool(made)))
        parts += made
    return [part for part in parts if part.by_dataset]


def _tables(requested: ComparisonRequest) -> tuple[Paired, pd.Series, dict[str, float]]:
    """Return the values of the ranked methods, those of the reference, and the ratio of each data set's splits."""
    rows, name = requested.rows, requested.reference
    ranked = paired(rows[rows["ranked"]], *requested.where)
    values = ranked.observed
    if name not in values:
        values = paired(rows[rows["method"] == name], *requested.where).observed.reindex(ranked.observed.index)
    of_reference = values[name] if name in values else pd.Series(nan, ranked.observed.index)
    return ranked, of_reference, ratios(rows)


def _comparable(
    requested: ComparisonRequest, ranked: Paired, reference: pd.Series, by_ratio: dict[str, float]
) -> Comparable:
    part = balanced(ranked, requested.methods)
    observed, of_reference = part.table.observed, reference.loc[part.table.observed.index]
    scores = {
        str(dataset): (values.to_numpy(float), of_reference.loc[values.index].to_numpy(float))
        for dataset, values in observed.groupby(level="dataset")
    }
    notes = [*requested.notes, *part.left_out, *_failures(part.table)]
    return comparable_of(requested, notes, part.table.methods, part.table.goal, scores, by_ratio)


def _failures(table: Paired) -> list[str]:
    """Return a sentence on the methods that failed on a split of several data sets; [] for none."""
    failed = {method: failures for method in table.methods if (failures := table.failures(method))}
    if not failed or len(table.datasets) == 1:
        return []
    reasons = [f"{visible(method)} ({failures_in_words(where, len(table.tried))})" for method, where in failed.items()]
    return [
        f"Failed, and no value is imputed: {listed(reasons, MOST_LISTED)}. A method has the last rank where it failed "
        "and cannot be called best; its difference is over the data sets on which it did not fail."
    ]


def comparable_of(
    requested: ComparisonRequest,
    notes: list[str],
    methods: list[str],
    goal: str | float,
    scores: dict[str, tuple[np.ndarray, np.ndarray]],
    by_ratio: dict[str, float],
) -> Comparable:
    """Return the comparable results, with notes on the reference and on untested data sets.

    Args:
        requested: the request.
        notes: sentences on what was left out.
        methods: names.
        goal: values that are good.
        scores: `SplitScores.scores` and `SplitScores.reference` of each data set.
        by_ratio: ratio of each data set's splits.
    """
    by_dataset = {
        name: SplitScores(*values, by_ratio[name], splits_of(name).along_features) for name, values in scores.items()
    }
    missing = [np.isnan(board.reference) for board in by_dataset.values()]
    notes = list(notes)
    without = [visible(name) for name, absent in zip(by_dataset, missing, strict=True) if absent.any()]
    if without:
        where = f" on {listed(without, MOST_LISTED)}" if len(without) < len(by_dataset) else ""
        notes.append(f"No differences{where}: {visible(requested.reference)} has no value on some split.")
    unknown = [visible(name) for name, board in by_dataset.items() if np.isnan(board.ratio) and len(board.scores) > 1]
    if unknown:
        notes.append(f"Not tested by splits, as all splits have the same test rows: {', '.join(unknown)}.")
    shared = [visible(name) for name, board in by_dataset.items() if _too_much_shared(board)]
    if shared and len(by_dataset) == 1:
        notes.append(
            f"Not tested by splits, which share too many rows to be worth two experiments: {', '.join(shared)}."
        )
    named = "" if all(absent.all() for absent in missing) else requested.reference
    return Comparable(by_dataset, methods, requested.where[2], goal, named, notes, methods)


def _too_much_shared(board: SplitScores) -> bool:
    """Return whether more splits than one are worth too few experiments to be tested."""
    return len(board.scores) > 1 and effective(len(board.scores), board.ratio) < FEWEST_EXPERIMENTS
