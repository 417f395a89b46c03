"""The content of a table independent of its format: entries, order of rows and caption."""

from collections.abc import Callable, Sequence
from math import nan
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.data.frames import groups, records
from lockstep_bench.leaderboards.metrics import lead, metric
from lockstep_bench.leaderboards.stats import Ranking, rank, rank_on_datasets
from lockstep_bench.leaderboards.stats.remarks import legend, signs
from lockstep_bench.leaderboards.stats.summary import Moments, summarise
from lockstep_bench.leaderboards.tables.boards import FEWEST_SPLITS
from lockstep_bench.leaderboards.tables.cells import outlier_in_words
from lockstep_bench.leaderboards.wording.formats import counted, decimals_for, number
from lockstep_bench.leaderboards.wording.run_facts import protocol_in_words, ranges

GOALS = {"low": "low is better", "high": "high is better"}
UNTESTED = "Too few splits to test differences"


class TableEntry(NamedTuple):
    """The result of one method on one data set.

    Attributes:
        mean: mean over the n splits that finished (the median if `LayoutTable.by_median`); NaN if there are none.
        stderr: standard error of the mean; NaN for fewer than 2 splits and for a median.
        n: number of splits that finished.
        n_failed: number of splits that were run without a result.
        verdict: one of `stats.verdicts.VERDICTS`; "" for a number that is not ranked.
        outlier: median and farthest split in words if single splits dominate the mean; beside a median, the worst
            split.
        said: remark on a fact that the rank does not show, such as "still improving" (`stats.remarks`).
    """

    mean: float
    stderr: float
    n: int
    n_failed: int
    verdict: str
    outlier: str
    said: str = ""

    @property
    def decimals(self) -> int:
        """Number of decimals with which the mean and its standard error are printed."""
        return decimals_for(self.mean, self.stderr)

    @property
    def signs(self) -> str:
        """The signs that stand for the remarks, such as "†", which are printed after the number."""
        return signs(self.said)


class Lines(NamedTuple):
    """A table as text: the header, the rows, and a last row of mean ranks, if there is one."""

    head: list[str]
    body: list[list[str]]
    foot: list[str] | None


class LayoutTable(NamedTuple):
    """The table of one suite, preset and metric.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        metric: name of the metric.
        methods: names, by mean rank with the best first, or in alphabetical order without mean ranks.
        datasets: names in alphabetical order.
        entries: entry of each pair (method, data set); pairs that were not run have none.
        mean_ranks: mean rank of each method over the ranked data sets; empty if there are fewer than two.
        n_ranked: number of ranked data sets.
        n_splits: the largest number of splits that a method finished on a data set.
        protocol: the protocol in words.
        seeds: the seeds in words.
        code: revisions of the code, in words.
        by_median: whether numbers are medians over splits, because each split leaves out values of another feature.
        n_rivals: largest number of methods that were compared on a data set; 0 if the metric has no better direction.
        fewer: whether some methods are compared on fewer splits of a data set than others (`Ranking.fewer`).
    """

    suite: str
    preset: str
    metric: str
    methods: list[str]
    datasets: list[str]
    entries: dict[tuple[str, str], TableEntry]
    mean_ranks: dict[str, float]
    n_ranked: int
    n_splits: int
    protocol: str
    seeds: str
    code: str
    by_median: bool
    n_rivals: int
    fewer: bool

    @property
    def has_fewer(self) -> bool:
        """True if some mean is over fewer than `n_splits` splits."""
        return any(0 < entry.n < self.n_splits for entry in self.entries.values())

    @property
    def has_failures(self) -> bool:
        """True if some method was run on a split without a result."""
        return any(entry.n_failed for entry in self.entries.values())

    def remark(self, entry: TableEntry) -> str:
        """Return what qualifies the number of an entry, such as "n = 18, 2 failed"; "" for most."""
        fewer = f"n = {entry.n}" if 0 < entry.n < self.n_splits else ""
        return ", ".join(filter(None, (fewer, f"{entry.n_failed} failed" if entry.n_failed else "", entry.outlier)))

    def lines(self, name: Callable[[str], str], show: Callable[[TableEntry, str], str], none: str) -> Lines:
        """Return the table as text, with methods as rows if there are at least as many methods as data sets.

        Args:
            name: function that formats the name of a method or data set.
            show: function that formats an entry and its remark.
            none: text of pairs that were not run.
        """
        across = len(self.datasets) <= len(self.methods)
        columns, rows = (self.datasets, self.methods) if across else (self.methods, self.datasets)

        def cell(row: str, column: str) -> str:
            entry = self.entries.get((row, column) if across else (column, row))
            if entry is None:
                return none
            return show(entry, self.remark(entry)) if entry.n else self.remark(entry) or none

        body = [[name(row), *(cell(row, column) for column in columns)] for row in rows]
        head = ["Method" if across else "Data set", *map(name, columns)]
        ranks = [number(self.mean_ranks.get(method, nan), 1) for method in self.methods] if self.mean_ranks else []
        if ranks and across:
            head, body = [*head, "Mean rank"], [[*line, rank] for line, rank in zip(body, ranks, strict=True)]
        return Lines(head, body, ["Mean rank", *ranks] if ranks and not across else None)

    def caption(self, plus_minus: str, best: str, could_be: str) -> str:
        """Return the caption, which can be understood without the text around the table.

        Args:
            plus_minus: sign between mean and standard error in the table's format.
            best: name of the mark for a method that is significantly better than all others, such as "Bold".
            could_be: name of the mark for methods that could be the best.
        """
        known = metric(self.metric)
        goal = "" if known.goal is None else GOALS.get(str(known.goal), f"{known.goal} is nominal")
        rest = f" ({goal})" if goal else ""
        fewer = " (n where fewer)" if self.has_fewer else ""
        errors = f"mean {plus_minus} standard error" if self.n_splits > 1 else "the value"
        errors = "median, with the worst split," if self.by_median else errors
        sentences = [
            f"{known.title}{rest}: {errors} over n = {counted(self.n_splits, 'test split')}{fewer}",
            f"Suite {self.suite}, preset {self.preset}: {self.protocol}; {self.seeds}; code {self.code}",
        ]
        if self.n_rivals > 1 and self.n_splits < FEWEST_SPLITS:
            sentences.append(UNTESTED)
        elif self.n_rivals > 1:
            sentences.append(
                f"{best}: every other method is significantly worse; {could_be}: no method is significantly better, "
                "and at least one is worse (corrected resampled t tests of all pairs by Holm's method, at a level of "
                "5 % on each data set)"
            )
        if self.fewer:
            sentences.append("Methods with fewer splits are compared on these, with all that were run on them")
        if self.n_splits > 1 and not self.by_median:
            sentences.append("Standard errors allow for the rows that splits share (Nadeau and Bengio 2003)")
        if self.has_failures:
            sentences.append("Failed splits have no result and are not included in the means")
        sentences += legend(entry.said for entry in self.entries.values())
        if self.mean_ranks:
            sentences.append(
                f"Mean rank: among the ranked methods of this table, over the {self.n_ranked} data sets that all of "
                "them were run on"
            )
        return ". ".join(sentences) + "."


def tables(cells: pd.DataFrame, metrics: Sequence[str] = ()) -> list[LayoutTable]:
    """Return a table for each suite, preset and metric that has results.

    Args:
        cells: result rows with labelled presets (`summary.with_labelled_presets`).
        metrics: names of the metrics; if empty, the most important metric of each suite and preset.
    """
    summary = summarise(cells)
    made = []
    for (suite, preset), part in groups(cells, ["suite", "preset"]):
        chosen = (summary["suite"] == suite) & (summary["preset"] == preset) & (summary["n"] + summary["n_failed"] > 0)
        rows = summary[chosen]
        available = set(rows.loc[rows["n"] > 0, "metric"])
        for name in metrics or [lead(available)]:
            if name in available:
                directed = metric(name).goal is not None
                ranked = rank_on_datasets(part, suite, preset, name, families=False) if directed else {}
                made.append(_table(part, suite, preset, name, rows[rows["metric"] == name], ranked))
    return made


def _table(
    cells: pd.DataFrame, suite: str, preset: str, name: str, summary: pd.DataFrame, ranked: dict[str, Ranking]
) -> LayoutTable:
    verdict = {(row.method, dataset): row.verdict for dataset, ranking in ranked.items() for row in ranking.all_rows}
    summary = summary[summary.groupby("dataset")["n"].transform("max") > 0]  # the metric applies to this data set
    entries = {}
    for row in records(summary, Moments):
        at = row.method, row.dataset
        entries[at] = TableEntry(
            row.typical,
            nan if row.by_median else row.stderr,
            row.n,
            row.n_failed,
            verdict.get(at, ""),
            outlier_in_words(row),
            row.remark,
        )
    ranks, n_ranked = _mean_ranks(cells, suite, preset, name)
    methods = list(dict.fromkeys([*ranks, *sorted(summary["method"].unique())]))
    return LayoutTable(
        suite,
        preset,
        name,
        methods,
        sorted(summary["dataset"].unique()),
        entries,
        ranks,
        n_ranked,
        int(summary["n"].max()),
        protocol_in_words(cells["protocol"].iloc[0]),
        _several("seed", ranges(sorted(cells["seed"].unique()))),
        ", ".join(sorted(set(cells["code_revision"].str[:10]))),
        bool(summary["by_median"].any()),
        max((len(ranking.rows) for ranking in ranked.values()), default=0),
        any(ranking.fewer for ranking in ranked.values()),
    )


def _mean_ranks(cells: pd.DataFrame, suite: str, preset: str, name: str) -> tuple[dict[str, float], int]:
    if metric(name).goal is None:
        return {}, 0
    ranking = rank(cells, suite, preset, name, families=False)
    n_datasets = len(ranking.datasets)
    if n_datasets < 2 or len(ranking.rows) < 2:
        return {}, n_datasets
    return {row.method: row.mean_rank for row in ranking.rows}, n_datasets


def _several(noun: str, listed: str) -> str:
    return f"{noun}s {listed}, averaged per split" if any(c in listed for c in ",–") else f"{noun} {listed}"
