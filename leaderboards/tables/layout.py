"""What a table says, in any format."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from leaderboards.metrics import lead, metric
from leaderboards.stats import common_ground, mean_ranks, paired
from leaderboards.stats.summary import per_split, summarise
from leaderboards.stats.ties import standings
from leaderboards.tables.boards import TESTS
from leaderboards.wording.formats import counted, decimals_for
from leaderboards.wording.ran import protocol_in_words, ranges

GOALS = {"low": "low is better", "high": "high is better"}
UNTESTED = "too few splits to tell ties"


class Entry(NamedTuple):
    """A number of one method on one data set.

    Attributes:
        mean, stderr: over n splits; NaN where there is none.
        n_failed: splits tried without a result.
        standing: of `ties.STANDINGS`, "" where the metric has no better.
        decimals: to print.
    """

    mean: float
    stderr: float
    n: int
    n_failed: int
    standing: str
    decimals: int


class Lines(NamedTuple):
    """A table's cells as text: the first line, those below it, and one that sums up, if any."""

    head: list[str]
    body: list[list[str]]
    foot: list[str] | None


class Table(NamedTuple):
    """One suite, preset and metric.

    Attributes:
        methods, datasets: the best mean rank first if there is one, else by name; by name.
        entries: by (method, data set); pairs that were not run are missing.
        mean_ranks: by method, over the data sets that every method finished; empty if there are fewer than two.
        n_ranked: how many data sets these are.
        n_splits: the most that some method finished on some data set.
        protocol, seeds, code: in words.
        tests: which tests told ties; see `ties`.
    """

    suite: str
    preset: str
    metric: str
    methods: list[str]
    datasets: list[str]
    entries: dict[tuple[str, str], Entry]
    mean_ranks: dict[str, float]
    n_ranked: int
    n_splits: int
    protocol: str
    seeds: str
    code: str
    tests: str

    @property
    def has_fewer(self) -> bool:
        """Whether some mean is over fewer splits than others."""
        return any(0 < entry.n < self.n_splits for entry in self.entries.values())

    @property
    def has_failures(self) -> bool:
        return any(entry.n_failed for entry in self.entries.values())

    def remark(self, entry: Entry) -> str:
        """What qualifies a number: "n = 18, 2 failed"; "" for most."""
        fewer = f"n = {entry.n}" if 0 < entry.n < self.n_splits else ""
        return ", ".join(filter(None, (fewer, f"{entry.n_failed} failed" if entry.n_failed else "")))

    def lines(self, name: Callable[[str], str], show: Callable[[Entry, str], str], none: str) -> Lines:
        """The table with the longer of methods and data sets downwards.

        `name` prints a name, `show` an entry with a value and its remark; `none` is printed where nothing was run.
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
        ranks = [f"{self.mean_ranks[method]:.1f}" for method in self.methods] if self.mean_ranks else []
        if ranks and across:
            head, body = [*head, "Mean rank"], [[*line, rank] for line, rank in zip(body, ranks, strict=True)]
        return Lines(head, body, ["Mean rank", *ranks] if ranks and not across else None)

    def caption(self, plus_minus: str, best: str, tied: str) -> str:
        """Whole sentences; the arguments are how the format shows each."""
        known = metric(self.metric)
        goal = GOALS.get(known.goal, f"{known.goal} is nominal" if known.goal is not None else "")
        rest = f" ({goal})" if goal else ""
        fewer = " (n where fewer)" if self.has_fewer else ""
        errors = f"mean {plus_minus} standard error" if self.n_splits > 1 else "the value"
        said = [
            f"{known.title}{rest}: {errors} over n = {counted(self.n_splits, 'test split')}{fewer}",
            f"Suite {self.suite}, preset {self.preset}: {self.protocol}; {self.seeds}; code {self.code}",
        ]
        if self.tests == UNTESTED:
            said.append(f"{best}: best mean; {UNTESTED}")
        elif self.tests:
            said.append(f"{best}: best mean; {tied}: not told from it at 0.05 by {self.tests} with Holm's correction")
        if self.has_failures:
            said.append("Failed: splits without a result, which no mean includes")
        if self.mean_ranks:
            said.append(f"Mean rank: over the {self.n_ranked} data sets that every method finished")
        return ". ".join(said) + "."


def tables(cells: pd.DataFrame, metrics: Sequence[str] = ()) -> list[Table]:
    """A table for each suite and preset of `cells` (presets labelled) and metric; without `metrics`, the leading one.

    Of a metric that a suite and preset do not have there is none.
    """
    splits, summary = per_split(cells), summarise(cells)
    told = standings(splits, cells)
    found = []
    for (suite, preset), part in cells.groupby(["suite", "preset"]):
        here = (summary["suite"] == suite) & (summary["preset"] == preset) & (summary["n"] + summary["n_failed"] > 0)
        own = summary[here]
        there = set(own.loc[own["n"] > 0, "metric"])
        for name in metrics or [lead(there)]:
            if name in there:
                verdicts = told[(told["suite"] == suite) & (told["preset"] == preset) & (told["metric"] == name)]
                found.append(_table(part, suite, preset, name, own[own["metric"] == name], verdicts))
    return found


def _table(cells: pd.DataFrame, suite: str, preset: str, name: str, summary: pd.DataFrame, told: pd.DataFrame) -> Table:
    standing = {(row.method, row.dataset): row.standing for row in told.itertuples()}
    summary = summary[summary.groupby("dataset")["n"].transform("max") > 0]  # the metric is for this data set
    decimals = {
        dataset: decimals_for(part["mean"].tolist(), part["stderr"].tolist())
        for dataset, part in summary.groupby("dataset")
    }
    entries = {}
    for row in summary.itertuples():
        at = row.method, row.dataset
        entries[at] = Entry(row.mean, row.stderr, row.n, row.n_failed, standing.get(at, ""), decimals[row.dataset])
    ranks, n_ranked = _mean_ranks(cells, suite, preset, name)
    methods = list(dict.fromkeys([*ranks, *sorted(summary["method"].unique())]))
    return Table(
        suite,
        preset,
        name,
        methods,
        sorted(decimals),
        entries,
        ranks,
        n_ranked,
        int(summary["n"].max()),
        protocol_in_words(cells["protocol"].iloc[0]),
        _several("seed", ranges(sorted(cells["seed"].unique()))),
        ", ".join(sorted(set(cells["code_revision"].str[:10]))),
        _tests(told),
    )


def _mean_ranks(cells: pd.DataFrame, suite: str, preset: str, name: str) -> tuple[dict[str, float], int]:
    if metric(name).goal is None:
        return {}, 0
    ground = common_ground(paired(cells, suite, preset, name)).table
    if len(ground.datasets) < 2 or len(ground.methods) < 2:
        return {}, len(ground.datasets)
    told = mean_ranks(ground)
    return dict(zip(told["method"], told["mean_rank"], strict=True)), len(ground.datasets)


def _several(noun: str, listed: str) -> str:
    return f"{noun}s {listed}, averaged per split" if any(c in listed for c in ",–") else f"{noun} {listed}"


def _tests(told: pd.DataFrame) -> str:
    names = [TESTS[name] for name in sorted(set(told["test"]) - {""}, reverse=True)]
    rivals = told["standing"].isin(["tied", "worse", "lacking", "undecided"]).any()
    return " or ".join(names) or (UNTESTED if rivals else "")
