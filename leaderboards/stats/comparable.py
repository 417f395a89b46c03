"""Selection of the results that a ranking compares: those in which every method was run on every split."""

import hashlib
from collections.abc import Collection
from math import nan
from typing import NamedTuple, TypedDict

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.stats.balanced import MOST_LISTED, balanced
from lockstep_bench.leaderboards.stats.dependence import FEWEST_EXPERIMENTS, effective
from lockstep_bench.leaderboards.stats.extents import extents
from lockstep_bench.leaderboards.stats.families import family_of
from lockstep_bench.leaderboards.stats.paired import Paired, failures_in_words
from lockstep_bench.leaderboards.stats.runs import Runs
from lockstep_bench.leaderboards.stats.schemes import SPLIT, flagged_in_words, splits_of
from lockstep_bench.leaderboards.stats.suites import origin
from lockstep_bench.leaderboards.wording.formats import counted, listed, visible
from lockstep_bench.methods import is_ranked

REFERENCE = "map"


class ComparisonOptions(TypedDict, total=False):
    """Arguments of `rank` and `rank_on_datasets` that may be left out.

    Attributes:
        methods: methods to rank. All others are left out, and so are data sets that one of them was not run on. By
            default all methods but the baseline `constant`.
        datasets: data sets to use; all by default.
        families: whether only one variant of each method is ranked (`stats.families`), if `methods` is empty; true by
            default.
        reference: method that differences refer to; `REFERENCE` by default.
        tests: whether methods are tested against each other; true by default. Without tests, all ranks are possible, no
            verdict is decided, and `odds` are not computed.
        power: whether to compute how many further results would decide; true by default. Without it, `odds` are not
            computed.
        odds: whether to compute the probability that a method is the best, and how many further results would decide
            its rank; true by default. Tests and odds take most of the computing time.
    """

    methods: Collection[str]
    datasets: Collection[str]
    families: bool
    reference: str
    tests: bool
    power: bool
    odds: bool


class Asked(NamedTuple):
    """Parts of a ranking to compute besides mean ranks and differences; `ComparisonOptions` explains the fields."""

    tests: bool = True
    power: bool = True
    odds: bool = True


class ComparisonRequest(NamedTuple):
    """A request for a ranking, with the results that it is about.

    Attributes:
        runs: runs of the methods to rank and of the reference method.
        ranked: methods to rank.
        metric: name of the metric.
        methods: methods that the request names; empty if it names none.
        reference: method that differences refer to.
        notes: sentences on splits that are not ranked, and on whether one variant represents each method.
        asked: parts of the ranking to compute.
    """

    runs: Runs
    ranked: list[str]
    metric: str
    methods: Collection[str]
    reference: str
    notes: list[str]
    asked: Asked


def request(
    runs: Runs,
    metric: str,
    *,
    methods: Collection[str] = (),
    datasets: Collection[str] = (),
    families: bool = True,
    reference: str = REFERENCE,
    **asked: bool,
) -> ComparisonRequest:
    """Return the request for a ranking, with its results; `ComparisonOptions` explains the arguments."""
    if datasets:
        runs = runs.chosen(datasets=datasets)
    notes = [flagged_in_words(runs.frame(SPLIT))] if runs.flagged.any() else []
    ranked = list(methods) or [name for name in runs.table(metric).methods if is_ranked(name)]
    if families and not methods:
        chosen = runs.representatives(ranked, reference)
        if len(chosen) < len(ranked):
            n_variants = counted(len(ranked), "variant")
            notes += [f"One method of each family, by validation score; {n_variants} were run."]
        ranked = list(chosen.values())
    runs = runs.chosen(methods=[*ranked, reference])
    return ComparisonRequest(runs, ranked, metric, methods, reference, notes, Asked(**asked))


class SplitScores(NamedTuple):
    """Results of several methods on the splits of one data set.

    Attributes:
        scores: values of the metric (S, M), NaN where a method failed.
        reference: values of the reference (S,); NaN where it has none.
        ratio: n_test / n_train, which measures how much splits depend on each other (`dependence`).
        by_median: whether methods are ranked by their median over splits instead of the mean.
    """

    scores: np.ndarray
    reference: np.ndarray
    ratio: float
    by_median: bool


class Comparable(NamedTuple):
    """The results that a ranking compares: on each data set, every method was run on every split.

    Attributes:
        by_dataset: results of all methods, by data set.
        methods: names of the methods.
        metric: name of the metric.
        goal: values that are good: "low", "high" or a nominal value.
        reference: method that differences refer to; "" without one.
        notes: sentences on what was left out, and why.
        placed: methods that get their rank from this comparison. If methods were run on different splits of a data
            set, these are the methods that were run on the compared splits only. Methods that were run on more splits
            take part in the tests, but get their rank from a comparison on all their splits.
        fewer: whether other methods were run on more splits of the data set than this comparison has.
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
        """Booleans (M, M): which pairs of methods are tested, namely those with at least one method in `placed`."""
        among = set(self.placed)
        placed = np.array([method in among for method in self.methods], bool)
        tested: np.ndarray = placed[:, None] | placed
        return tested

    @property
    def origins(self) -> list[str]:
        """For each data set, the one whose rows it has (`suites.origin`)."""
        return [origin(name) for name in self.by_dataset]

    def by_origin(self, values: np.ndarray) -> np.ndarray:
        """Return the means of values (D, ...) over data sets with the same rows, in the order of the first of them.

        Data sets made from the same rows, such as nested subsamples, are not independent.
        """
        origins = np.array(self.origins)
        names = dict.fromkeys(self.origins)
        return (
            np.stack([values[origins == name].mean(axis=0) for name in names]) if len(names) < len(values) else values
        )

    def digest(self) -> str:
        """Return a digest of the attributes without the notes, of origins, and of the families of the methods."""
        boards = {name: (board.ratio, board.by_median) for name, board in self.by_dataset.items()}
        families = [family_of(name) for name in self.methods]
        said = repr((self._replace(by_dataset={}, notes=[]), boards, families, self.origins))
        digest = hashlib.sha256(said.encode("utf-8", "surrogatepass"))
        for board in self.by_dataset.values():
            digest.update(board.scores.tobytes())
            digest.update(board.reference.tobytes())
        return digest.hexdigest()


def comparable(requested: ComparisonRequest) -> Comparable:
    """Return the part of the requested results in which every method was run on every split of every data set."""
    ranked, reference, by_ratio = _tables(requested)
    if len(ranked.datasets) == 1 and (alone := _on_each(requested, ranked, reference, by_ratio)):
        return alone[0]
    return _comparable(requested, ranked, reference, by_ratio)


def comparable_on_each(requested: ComparisonRequest) -> list[Comparable]:
    """Return the comparable results of each data set, where methods are compared on all splits that they share.

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
            table = ranked._replace(observed=observed, tried=asked)
            parts.append(_comparable(requested, table, reference.iloc[here], by_ratio))
            continue
        made: list[Comparable] = []
        for extent in extents(methods[run].tolist(), values[here][:, run], tried[here][:, run]):
            scores = {dataset: (np.asfortranarray(extent.values), of_reference[here[extent.splits]])}
            notes = [*requested.notes, *extent.notes]
            part = comparable_of(
                requested.metric, requested.reference, notes, extent.compared, ranked.goal, scores, by_ratio
            )
            made.append(part._replace(placed=extent.methods, fewer=bool(made)))
        parts += made
    return [part for part in parts if part.by_dataset]


def _tables(requested: ComparisonRequest) -> tuple[Paired, pd.Series, dict[str, float]]:
    """Return the values of the ranked methods, those of the reference, and the ratio of each data set's splits."""
    runs, name, metric = requested.runs, requested.reference, requested.metric
    ranked = runs.chosen(methods=requested.ranked).table(metric)
    values = ranked.observed
    if name not in values:
        values = runs.chosen(methods=[name]).table(metric).observed.reindex(ranked.observed.index)
    of_reference = values[name] if name in values else pd.Series(nan, ranked.observed.index)
    return ranked, of_reference, runs.ratios


def _comparable(
    requested: ComparisonRequest, ranked: Paired, reference: pd.Series, by_ratio: dict[str, float]
) -> Comparable:
    part = balanced(ranked, requested.methods)
    names = part.table.observed.index.get_level_values("dataset")
    values, of_reference = part.table.observed.to_numpy(float), reference.to_numpy(float)[part.lines]
    scores = {
        dataset: (np.asfortranarray(values[names == dataset]), of_reference[names == dataset])
        for dataset in map(str, part.table.datasets)
    }
    notes = [*requested.notes, *part.left_out, *_failures(part.table)]
    methods, goal = part.table.methods, part.table.goal
    return comparable_of(requested.metric, requested.reference, notes, methods, goal, scores, by_ratio)


def _failures(table: Paired) -> list[str]:
    """Return a sentence on the methods that failed on a split of several data sets; [] for none."""
    without_value = (table.tried.to_numpy(bool) & np.isnan(table.observed.to_numpy(float))).any(axis=0)
    failed = [method for method, any_split in zip(table.methods, without_value.tolist(), strict=True) if any_split]
    if not failed or len(table.datasets) == 1:
        return []
    reasons = [
        f"{visible(method)} ({failures_in_words(table.failures(method), len(table.tried))})"
        for method in failed[:MOST_LISTED]
    ]
    said = listed([*reasons, *failed[MOST_LISTED:]], MOST_LISTED)  # the others are only counted
    return [
        f"Failed: {said}. A method ranks last where it failed and cannot be called best; its "
        "difference is over the other data sets."
    ]


def comparable_of(
    metric: str,
    reference: str,
    notes: list[str],
    methods: list[str],
    goal: str | float,
    scores: dict[str, tuple[np.ndarray, np.ndarray]],
    by_ratio: dict[str, float],
) -> Comparable:
    """Return comparable results put together from their parts, with notes on the reference and untested data sets.

    Args:
        metric: name of the metric.
        reference: method that differences refer to.
        notes: sentences on what was left out.
        methods: names of the methods.
        goal: values that are good: "low", "high" or a nominal value.
        scores: `SplitScores.scores` and `SplitScores.reference` of each data set.
        by_ratio: n_test / n_train of each data set's splits (`dependence`).
    """
    by_dataset = {
        name: SplitScores(*values, by_ratio[name], splits_of(name).along_features) for name, values in scores.items()
    }
    missing = [np.isnan(board.reference) for board in by_dataset.values()]
    notes = list(notes)
    without = [visible(name) for name, absent in zip(by_dataset, missing, strict=True) if absent.any()]
    if without and all(absent.all() for absent in missing):
        notes.append(f"No differences: {visible(reference)} has no value.")
    elif without:
        where = f" on {listed(without, MOST_LISTED)}" if len(without) < len(by_dataset) else ""
        notes.append(f"No differences{where}: {visible(reference)} has no value on some split.")
    unknown = [visible(name) for name, board in by_dataset.items() if np.isnan(board.ratio) and len(board.scores) > 1]
    if unknown:
        notes.append(f"Not tested by splits, as all splits have the same test rows: {', '.join(unknown)}.")
    shared = [visible(name) for name, board in by_dataset.items() if _too_much_shared(board)]
    if shared and len(by_dataset) == 1:
        notes.append(
            f"Not tested by splits, which share too many rows to be worth two experiments: {', '.join(shared)}."
        )
    named = "" if all(absent.all() for absent in missing) else reference
    if named and not isinstance(goal, str):
        notes.append(f"Differences are of the distance to {goal:g}: below 0 is nearer than {visible(reference)}.")
    return Comparable(by_dataset, methods, metric, goal, named, notes, methods)


def _too_much_shared(board: SplitScores) -> bool:
    """Return whether several splits are equivalent to too few independent experiments for a test."""
    return len(board.scores) > 1 and effective(len(board.scores), board.ratio) < FEWEST_EXPERIMENTS
