"""One board for a page: the methods of one data set under one preset, beside what papers report."""

from math import isnan, nan
from typing import NamedTuple

import pandas as pd

from leaderboards.data.published import apart, difference
from leaderboards.data.times import about_times
from leaderboards.metrics import HEADLINE, INTERVALS, Metric, lead, metric
from leaderboards.wording.formats import as_printed, counted, decimals_for, not_nothing, number, visible

LONG = 12  # methods
TESTS = {"wilcoxon": "the paired Wilcoxon signed-rank test", "t": "the paired t test"}


class Cell(NamedTuple):
    """A number as printed; every attribute may be empty.

    Attributes:
        value, stderr, median: of measured splits, or as a paper prints them.
        standing: one of `ties.STANDINGS`.
        hint: a sentence for a tooltip.
        difference: ours minus theirs in joint standard errors.
        sources: numbers of the page's list of sources.
        amount: the mean itself, to sort by; NaN where there is none.
    """

    value: str = ""
    stderr: str = ""
    median: str = ""
    standing: str = ""
    hint: str = ""
    difference: str = ""
    sources: tuple[int, ...] = ()
    amount: float = nan


class Row(NamedTuple):
    """A line of a table: what we measured, or what one source reports."""

    method: str
    published: bool
    measured_too: bool  # of published rows: the method has a measured row on this board
    n: int
    n_failed: int
    cells: dict[str, Cell]  # by metric


class Board(NamedTuple):
    """Attributes: as shown; `rows` are sorted by the mean of `lead`, those of papers below their method."""

    suite: str
    dataset: str
    preset: str
    lead: str
    headline: dict[str, Metric]
    others: dict[str, Metric]
    rows: list[Row]
    sentence: str

    @property
    def long(self) -> bool:
        """Whether it has so many methods that each should take little room."""
        return sum(not row.published for row in self.rows) > LONG

    @property
    def n_splits(self) -> int:
        """The most that some method was run on."""
        return max(row.n + row.n_failed for row in self.rows)

    def rows_about(self, columns: dict[str, Metric]) -> list[Row]:
        """All measured rows, and those of papers that report one of `columns`."""
        return [row for row in self.rows if not row.published or columns.keys() & row.cells.keys()]


class Sources:
    """The page's numbered list of sources, in the order of their first use."""

    def __init__(self):
        self.entries: list[tuple[str, str, str]] = []

    def cite(self, source: str, table: str, note: str) -> int:
        """The number (from 1) of this source, which is added if it is new."""
        entry = (source, table, note)
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry) + 1


def board(summary: pd.DataFrame, standings: pd.DataFrame, published: pd.DataFrame, sources: Sources) -> Board:
    """The board of `summary`, which holds one suite, data set and preset; the other tables hold no other data set."""
    suite, dataset, preset = summary.loc[summary.index[0], ["suite", "dataset", "preset"]]
    names = list(dict.fromkeys(summary["metric"]))
    verdicts = {(row.metric, row.method): row for row in standings.itertuples()}
    means = {(row.method, row.metric): row for row in summary.itertuples()}
    measured = {row.method: row for row in _measured(summary, means, verdicts)}
    reported = _reported(published, names, means, sources)
    leading = lead(names)
    score = {method: means[method, leading].mean if (method, leading) in means else nan for method in measured}
    rows = []
    for method in sorted(measured, key=lambda m: (isnan(score[m]), score[m], m)):
        rows += [measured[method], *(row for row in reported if row.method == method)]
    rows += [row for row in reported if not row.measured_too]
    return Board(
        suite,
        dataset,
        preset,
        leading,
        {name: metric(name) for name in HEADLINE if name in names},
        {name: metric(name) for name in names if name not in {*HEADLINE, *sum(INTERVALS.values(), ())}},
        rows,
        " ".join(
            filter(
                None,
                (_how_ties_were_told(standings), _what_keeps_apart(published, means, sources), about_times(summary)),
            )
        ),
    )


def _measured(summary: pd.DataFrame, means: dict, verdicts: dict) -> list[Row]:
    decimals = {
        name: decimals_for(column["mean"].tolist(), column["stderr"].tolist())
        for name, column in summary.groupby("metric")
    }
    of_method: dict[str, dict] = {}
    for (method, name), values in means.items():
        of_method.setdefault(method, {})[name] = values
    rows = []
    for method, by_metric in of_method.items():
        cells = {name: _cell(v, verdicts.get((name, method)), decimals[name]) for name, v in by_metric.items()}
        n, n_failed = (max(getattr(values, count) for values in by_metric.values()) for count in ("n", "n_failed"))
        rows.append(Row(method, False, False, n, n_failed, _with_intervals(cells)))
    return rows


def _with_intervals(cells: dict[str, Cell]) -> dict[str, Cell]:
    """`cells` by metric, those of `INTERVALS` with their ends in the tooltip."""
    told = {}
    for name, ends in INTERVALS.items():
        low, high = (cells.get(end, Cell()).value for end in ends)
        if name in cells and low and high:
            hint = f"{cells[name].hint}; 95 % bootstrap interval of a split, on average {low} to {high}"
            told[name] = cells[name]._replace(hint=hint)
    return cells | told


def _cell(values, verdict, decimals: int) -> Cell:
    """`values`: a row of the summary; `verdict`: its row of the standings, None where the metric has no better."""
    if values.n == 0:
        return Cell()
    hint = f"{counted(values.n, 'split')}, median {number(values.median, decimals)}"
    if values.n_failed:
        hint += f", {values.n_failed} failed"
    if verdict is not None and not isnan(verdict.p_value):
        hint += f"; against the best: p = {verdict.p_value:.2g} after Holm, {TESTS[verdict.test]}"
        hint += f" over {counted(verdict.n_pairs, 'common split')}"
    return Cell(
        value=not_nothing(values.mean, decimals),
        stderr="" if isnan(values.stderr) else number(values.stderr, decimals),
        median=number(values.median, decimals),
        standing="" if verdict is None else verdict.standing,
        hint=hint,
        amount=values.mean,
    )


def _reported(published: pd.DataFrame, names: list[str], means: dict, sources: Sources) -> list[Row]:
    """One row per method and source that report one of the metrics `names`."""
    relevant = published[published["metric"].isin(names)]
    rows = []
    for (method, _), reports in relevant.groupby(["method", "source"], sort=False):
        cells = {
            name: _report(report, means.get((method, name)), sources) for name, report in reports.groupby("metric")
        }
        ours = any(measured == method for measured, _ in means)
        rows.append(Row(method, True, ours, 0, 0, cells))
    return sorted(rows, key=lambda row: row.method)


def _report(report: pd.DataFrame, ours, sources: Sources) -> Cell:
    """What one source says of one metric of one method: a mean, a median, or both."""
    said = {row.statistic: row for row in report.itertuples()}
    hints = [f"{row.source}, {row.table}" + (f": {row.note}" if row.note else "") for row in said.values()]
    value = stderr = median = told = ""
    amount = nan
    if mean := said.get("mean"):
        value, stderr = as_printed(mean.value, mean.stderr)
        amount = mean.value
        if ours is not None and mean.comparable:
            distance = difference(ours.mean, ours.stderr, mean.value, mean.stderr)
            told = "" if isnan(distance) else _signed(distance)
    if middle := said.get("median"):
        median, _ = as_printed(middle.value, nan)
    numbers = tuple(sorted({sources.cite(row.source, row.table, row.note) for row in said.values()}))
    return Cell(value, stderr, median, "", "; ".join(dict.fromkeys(hints)), told, numbers, amount)


def _signed(distance: float) -> str:
    text = number(distance, 1)
    return text if text.startswith("−") else f"+{text}"


def _what_keeps_apart(published: pd.DataFrame, means: dict, sources: Sources) -> str:
    """A sentence on the protocols of published numbers that have a measured one beside them."""
    found: dict[str, set[int]] = {}
    for row in published[published["statistic"] == "mean"].itertuples():
        ours = means.get((row.method, row.metric))
        if ours is not None and ours.n and row.comparable:
            reason = apart(row.source, ours.suite, ours.preset, ours.n, row.n)
            found.setdefault(reason, set()).add(sources.cite(row.source, row.table, row.note))
    found.pop("", None)
    parts = [f"{reason} (source {', '.join(map(str, sorted(numbers)))})" for reason, numbers in found.items()]
    return f"Differences to published numbers are not of like with like: {'; '.join(parts)}." if parts else ""


def _how_ties_were_told(standings: pd.DataFrame) -> str:
    """A sentence or three on the tests behind a board's marks: those of NMLL; other metrics have the same splits."""
    rivals = standings[
        (standings["metric"] == "nmll") & standings["standing"].isin(["tied", "lacking", "worse", "undecided"])
    ]
    if rivals.empty:
        return ""
    if (rivals["standing"] == "undecided").all():
        return "Too few splits to tell ties: only the best mean is marked."
    parts = []
    for test, told in rivals[rivals["test"] != ""].groupby("test"):
        fewest, most = told["n_pairs"].min(), told["n_pairs"].max()
        splits = counted(most, "common split") if fewest == most else f"{fewest} to {most} common splits"
        parts.append(f"{TESTS[test]} over {splits}")
    sentence = f"Ties are told by {' or '.join(parts)}."
    if "t" in set(rivals["test"]):
        sentence += " With so few splits the Wilcoxon test could never tell two methods apart."
    if (rivals["standing"] == "undecided").any():
        unclear = ", ".join(visible(method) for method in rivals.loc[rivals["standing"] == "undecided", "method"])
        sentence += f" Too few splits to tell for {unclear}."
    return sentence
