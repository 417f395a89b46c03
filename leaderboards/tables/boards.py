"""The table of a data set's page: the results of all methods under one preset, with published numbers below them."""

from collections.abc import Collection, Mapping
from functools import partial
from math import isfinite, isnan, nan
from statistics import median
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.data import published as papers
from lockstep_bench.leaderboards.data.frames import listed, records
from lockstep_bench.leaderboards.data.published import Published, apart
from lockstep_bench.leaderboards.data.times import about_times
from lockstep_bench.leaderboards.metrics import (
    HEADLINE,
    HEADLINE_OF_MEDIANS,
    INTERVALS,
    NULLS,
    PARTS,
    Metric,
    lead,
    metric,
)
from lockstep_bench.leaderboards.stats.ranking import Ranked, Ranking
from lockstep_bench.leaderboards.stats.remarks import legend
from lockstep_bench.leaderboards.stats.schemes import NOT_RANKED
from lockstep_bench.leaderboards.stats.summary import Moments
from lockstep_bench.leaderboards.tables.cells import BoardCell, CellNumbers, cell, hint
from lockstep_bench.leaderboards.tables.on_demand import OnDemand
from lockstep_bench.leaderboards.tables.ranking_numbers import rounded
from lockstep_bench.leaderboards.wording.formats import (
    as_printed,
    counted,
    number,
)

LONG = 12  # methods, beyond which a table has one line per method
FEWEST_SPLITS = 2  # for a test

Means = Mapping[str, Mapping[str, Moments]]  # by metric and method


class BoardRow(NamedTuple):
    """A row of the table on a data set's page: the measured results of a method, or those that one paper reports."""

    method: str
    published: bool
    measured_too: bool  # of published rows: the method has a measured row on this board
    n: int
    n_failed: int
    cells: Mapping[str, BoardCell]  # by metric
    hints: Mapping[str, str]  # texts of tooltips, by metric
    numbers: Mapping[str, CellNumbers]  # of measured rows, by metric


class Unmatched(NamedTuple):
    """A published number for which the table on a data set's page has no column.

    Attributes:
        method: name of the method.
        metric: title of the quantity.
        value: the number as the paper prints it.
        reason: why this project does not measure the same quantity; empty if the results merely lack the column.
        source: number in the page's list of sources.
    """

    method: str
    metric: str
    value: str
    reason: str
    source: int


class Board(NamedTuple):
    """The table on a data set's page: the results of one suite, data set and preset.

    Attributes:
        suite: name of the suite.
        dataset: name of the data set.
        preset: label of the preset.
        lead: metric that orders the methods.
        headline: metrics of the main table, by name.
        others: all other metrics, by name.
        by_median: whether values are medians over splits, because each split leaves out values of another feature.
        rows: rows ordered by the values of `lead`, with the methods `fewer` last; published rows follow their method.
        fewer: methods that were run on fewer splits than others. They are shown in a separate table, because numbers on
            different splits are not comparable.
        sentence: notes on tests, published numbers and times.
        unmatched: published numbers of the data set that no column holds.
    """

    suite: str
    dataset: str
    preset: str
    lead: str
    headline: dict[str, Metric]
    others: dict[str, Metric]
    by_median: bool
    rows: list[BoardRow]
    fewer: set[str]
    sentence: str
    unmatched: list[Unmatched]

    @property
    def long(self) -> bool:
        """True if there are so many methods that each is shown on a single line."""
        return sum(not row.published for row in self.rows) > LONG

    def n_splits(self, fewer: bool = False) -> int:
        """Return the largest number of splits of a method, in the main table or among the methods `fewer`."""
        return max(row.n + row.n_failed for row in self.rows if (row.method in self.fewer) == fewer)

    def rows_about(self, columns: dict[str, Metric], fewer: bool = False) -> list[BoardRow]:
        """Return the measured rows of one of the tables, and its published rows that have one of the metrics `columns`.

        Args:
            columns: metrics of the table's columns, by name.
            fewer: True for the table of the methods `fewer`, False for that of all others.
        """
        rows = [row for row in self.rows if (row.method in self.fewer) == fewer]
        return [row for row in rows if not row.published or columns.keys() & row.cells.keys()]


class Sources:
    """The numbered list of sources of published numbers, in the order of their first use."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, str]] = []

    def cite(self, source: str, table: str, note: str) -> int:
        """Return the number (from 1) of a source in the list, which is extended if the source is new."""
        entry = (source, table, note)
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry) + 1


def board(
    summary: pd.DataFrame, rankings: Mapping[str, Ranking | None], published: pd.DataFrame, sources: Sources
) -> Board:
    """Return the table of a data set's page, for one suite, data set and preset.

    Args:
        summary: rows of `stats.summary.summarise` for this suite, data set and preset.
        rankings: ranking of all methods on this data set, by metric. Those of `others` are used only where their cells
            are read.
        published: rows of `data.published.read_published` on this data set.
        sources: list that cited sources are added to.
    """
    suite, dataset, preset = (str(summary[name].iloc[0]) for name in ("suite", "dataset", "preset"))
    known = set(summary.loc[summary["n"] > 0, "metric"])
    names = [name for name in summary["metric"].unique() if name in known or not known]
    means = _means(summary)
    measured = {row.method: row for row in _measured(summary, means, rankings)}
    by_median = bool(summary["by_median"].any())
    reported = _reported(published, names, measured, means, sources, by_median)
    leading = lead(names)
    score = {method: means[leading][method].typical if method in means[leading] else nan for method in measured}
    fewer = _fewer(measured, rankings.get(leading))
    rows = []
    for method in sorted(measured, key=lambda m: (m in fewer, isnan(score[m]), score[m], m)):
        rows += [measured[method], *(row for row in reported if row.method == method)]
    rows += [row for row in reported if not row.measured_too]
    ordered = HEADLINE_OF_MEDIANS if by_median else HEADLINE
    shown = [beside for name in ordered for beside in (name, *NULLS.get(name, ())[:1])]
    headline = [name for name in shown if name in names]
    return Board(
        suite,
        dataset,
        preset,
        leading,
        {name: metric(name) for name in headline},
        {
            name: metric(name)
            for name in names
            if name not in {*headline, *sum((*INTERVALS.values(), *NULLS.values()), ())}
        },
        by_median,
        rows,
        fewer,
        " ".join(
            filter(
                None,
                (
                    "Numbers are medians over splits, with the worst split below; tests compare means."
                    if by_median
                    else "",
                    _tests_in_words(rankings.get(leading)),
                    _protocols_in_words(published, means, sources),
                    about_times(summary),
                    "".join(f"{phrase}. " for phrase in legend(summary["remark"].unique())).strip(),
                ),
            )
        ),
        _unmatched(published, names, sources),
    )


def _fewer(measured: dict[str, BoardRow], ranking: Ranking | None) -> set[str]:
    """Return the methods that were run on fewer splits than those with places in the ranking."""
    if ranking is None or not ranking.fewer:
        return set()
    n_splits, ranked = ranking.rows[0].n_splits, {row.method for row in ranking.all_rows}
    unranked = {name for name, row in measured.items() if name not in ranked and row.n + row.n_failed < n_splits}
    return unranked | {row.method for row in ranking.fewer}


def _means(summary: pd.DataFrame) -> Means:
    """Return the rows of a summary, made when they are read: pages show a few of the metrics for all methods."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(listed(summary["metric"])):
        places.setdefault(name, []).append(place)
    columns = {name: summary[name].array for name in Moments._fields}

    def of_metric(name: str) -> dict[str, Moments]:
        values = (columns[field].take(places[name]).to_numpy().tolist() for field in Moments._fields)
        rows = map(Moments._make, zip(*values, strict=True))
        return {row.method: row for row in rows}

    return OnDemand(places, of_metric)


def _measured(summary: pd.DataFrame, means: Means, rankings: Mapping[str, Ranking | None]) -> list[BoardRow]:
    places = OnDemand(means, lambda name: _places(rankings.get(name)))
    most: dict[str, tuple[int, int]] = {}
    for method, n, n_failed in zip(*(listed(summary[name]) for name in ("method", "n", "n_failed")), strict=True):
        other_n, other_failed = most.get(method, (n, n_failed))
        most[method] = max(n, other_n), max(n_failed, other_failed)
    rows = []
    for method, counts in most.items():
        numbers = OnDemand(means, partial(_numbers_of, method, means, places, rankings))
        cells, hints = OnDemand(means, partial(cell, numbers)), OnDemand(means, partial(hint, numbers))
        rows.append(BoardRow(method, False, False, *counts, cells, hints, numbers))
    return rows


def _places(ranking: Ranking | None) -> dict[str, Ranked]:
    return {row.method: row for row in ranking.all_rows} if ranking else {}


def _numbers_of(
    method: str,
    means: Means,
    places: Mapping[str, Mapping[str, Ranked]],
    rankings: Mapping[str, Ranking | None],
    name: str,
) -> CellNumbers:
    if method not in means[name]:
        return CellNumbers(None)
    ranking, place = rankings.get(name), places[name].get(method)
    further = (*PARTS.get(name, ()), *INTERVALS.get(name, ()), *NULLS.get(name, ()))
    beside = {part: means[part][method] for part in further if method in means.get(part, ())}
    reference, unit = (ranking.reference, ranking.unit) if ranking else ("", "")
    return CellNumbers(means[name][method], place, reference, unit, beside)


def _reported(
    published: pd.DataFrame,
    names: list[str],
    measured: Collection[str],
    means: Means,
    sources: Sources,
    by_median: bool,
) -> list[BoardRow]:
    """Return one row per method and source that report one of the metrics `names`."""
    relevant = published[published["metric"].isin(names)]
    if relevant.empty:
        return []
    rows = []
    for (group, _), reports in relevant.groupby(["method", "source"], sort=False):
        method = str(group)
        reported = {
            str(name): _report(report, means[str(name)].get(method), sources, by_median)
            for name, report in reports.groupby("metric")
        }
        cells = {name: entry for name, (entry, _) in reported.items()}
        hints = {name: text for name, (_, text) in reported.items()}
        rows.append(BoardRow(method, True, method in measured, 0, 0, cells, hints, {}))
    return sorted(rows, key=lambda row: row.method)


def _unmatched(published: pd.DataFrame, names: list[str], sources: Sources) -> list[Unmatched]:
    """Return the published numbers of metrics other than `names`, by metric and method."""
    left = published[~published["metric"].isin(names)].sort_values(["metric", "method", "statistic"], kind="stable")
    entries = []
    for row in records(left, Published):
        value, stderr = as_printed(row.value, row.stderr)
        printed = f"{value} ± {stderr}" if stderr else value
        title = metric(row.metric).title + (", median" if row.statistic == "median" else "")
        number_of_source = sources.cite(row.source, row.table, row.note)
        entries.append(Unmatched(row.method, title, printed, row.incomparable, number_of_source))
    return entries


def _report(report: pd.DataFrame, measured: Moments | None, sources: Sources, by_median: bool) -> tuple[BoardCell, str]:
    """Return the entry and tooltip of what a source reports of one metric of a method: a mean, a median, or both.

    Where the values measured here are medians, a reported median is the value, and the mean is left to the tooltip.
    """
    reported = {row.statistic: row for row in records(report, Published)}
    hints = ["; ".join(filter(None, (_cited(row), row.incomparable))) for row in reported.values()]
    value = stderr = middle = apart_by = ""
    amount = nan
    if mean := reported.get("mean"):
        value, stderr = as_printed(mean.value, mean.stderr)
        amount = mean.value
        if measured is not None and not mean.incomparable:
            distance = papers.difference(measured.mean, measured.sem, mean.value, mean.stderr)
            apart_by = "" if isnan(distance) else _signed(distance)
    if reported_median := reported.get("median"):
        middle, _ = as_printed(reported_median.value, nan)
        if by_median:
            hints.append(f"mean {value} ± {stderr}" if stderr else f"mean {value}" if value else "")
            value, stderr, middle, apart_by, amount = middle, "", "", "", reported_median.value
    numbers = tuple(sorted({sources.cite(row.source, row.table, row.note) for row in reported.values()}))
    entry = BoardCell(value, stderr, middle, difference=apart_by, sources=numbers, amount=amount)
    return entry, "; ".join(filter(None, dict.fromkeys(hints)))


def _cited(row: Published) -> str:
    return f"{row.source}, {row.table}" + (f": {row.note}" if row.note else "")


def _signed(distance: float) -> str:
    text = number(distance, 1)
    return text if text.startswith("−") else f"+{text}"


def _protocols_in_words(published: pd.DataFrame, means: Means, sources: Sources) -> str:
    """Return a sentence on published numbers of another quantity, or of another protocol, than the measured ones."""
    by_reason: dict[str, set[int]] = {}
    for row in records(published[published["statistic"] == "mean"], Published):
        ours = means[row.metric].get(row.method) if row.metric in means else None
        if ours is not None and ours.n:
            reason = row.incomparable or apart(row.source, ours.suite, ours.preset, ours.n, row.n)
            by_reason.setdefault(reason, set()).add(sources.cite(row.source, row.table, row.note))
    by_reason.pop("", None)
    parts = [f"{reason} (source {', '.join(map(str, sorted(numbers)))})" for reason, numbers in by_reason.items()]
    return f"Not directly comparable with published numbers: {'; '.join(parts)}." if parts else ""


def _tests_in_words(ranking: Ranking | None) -> str:
    """Return sentences on the tests behind the marks of the leading metric."""
    if ranking is None or len(ranking.rows) < 2:
        return ""
    n_splits = ranking.rows[0].n_splits
    tests = (
        f"All pairs of {counted(len(ranking.rows), 'method')} are compared by corrected t tests over "
        f"{counted(n_splits, 'split')}."
    )
    if n_splits < FEWEST_SPLITS:
        tests = "Too few splits to test differences: no method is marked."
    elif not (sizes := [row.verdict_detectable for row in ranking.rows if isfinite(row.verdict_detectable)]):
        tests = ""  # the notes say why nothing is tested
    else:
        unit = " nats" if ranking.unit == "nats" else ""
        size = f"{rounded(median(sizes))}{unit}"
        tests += f" The median pair would be distinguished with 80 % power if it differed by {size}."
    # The facts about the data set name its own flagged splits; this note is on all sets of the suite.
    notes = [note for note in ranking.notes if not note.startswith(NOT_RANKED)]
    return " ".join(filter(None, [tests, *notes]))
