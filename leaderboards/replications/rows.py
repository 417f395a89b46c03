"""The results that were run for a replicated table or figure: values by split, and which runs are missing."""

from functools import cache, cached_property
from math import isnan, nan
from typing import Any, NamedTuple, cast

import pandas as pd

from lockstep_bench.leaderboards.data.frames import as_object
from lockstep_bench.leaderboards.stats.dependence import ratios
from lockstep_bench.methods.catalogue.options import InvalidOption, texts_of, with_options
from lockstep_bench.shared.method_names import registered
from lockstep_bench.shared.papers.entries import Entry

CELL = ["suite", "dataset", "method"]


class RunPart(NamedTuple):
    """Counts of the splits of one method on one data set: planned, run and failed.

    Attributes:
        n_tried: number of splits that were run.
        n_failed: number of these without a finished row.
        n_planned: number of splits that the replication plans.
    """

    n_tried: int
    n_failed: int
    n_planned: int

    @property
    def in_words(self) -> str:
        """Return what is missing, as in "19 of 20 splits; 1 failed" or "not complete: 12 of 20"; "" if nothing is."""
        n = self.n_tried - self.n_failed
        parts = []
        if self.n_tried < self.n_planned:
            parts.append(f"not complete: {self.n_tried} of {self.n_planned}")
        elif self.n_failed:
            parts.append(f"{n} of {self.n_planned} splits")
        return "; ".join([*parts, *([f"{self.n_failed} failed"] if self.n_failed else [])])


class Gap(NamedTuple):
    """Results of one method on one data set that are missing, described by the text `missing`."""

    dataset: str
    method: str
    missing: str


class ReplicationRows:
    """The results of one replicated table or figure.

    For each method and data set, only the results of the protocol that was run last are included.

    Attributes:
        cells: the result rows.
        n_earlier: number of result rows of other protocols, which are left out.
    """

    def __init__(self, cells: pd.DataFrame, entry: Entry):
        self.cells = _of_latest_protocol(cells)
        self.n_earlier = len(cells) - len(self.cells)
        self._planned = _planned_splits(entry)

    @cached_property
    def _parts(self) -> dict[tuple[str, str], dict[str, list[dict[str, Any]]]]:
        """Rows as dictionaries, with the keys of their diagnostics, by (data set, method) and suite."""
        parts: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
        if self.cells.empty:
            return parts
        for cell in cast("list[dict[str, Any]]", self.cells.to_dict("records")):  # names of columns are texts
            by_suite = parts.setdefault((cell["dataset"], canonical(cell["method"])), {})
            by_suite.setdefault(cell["suite"], []).append(as_object(cell["diagnostics"]) | cell)
        return parts

    @cached_property
    def _most_tried(self) -> dict[str, int]:
        """Largest number of splits of any method, by data set."""
        most: dict[str, int] = {}
        for (dataset, _), by_suite in self._parts.items():
            for cells in by_suite.values():
                most[dataset] = max(most.get(dataset, 0), len({cell["split"] for cell in cells}))
        return most

    def _part(self, suite: str, dataset: str, method: str) -> list[dict[str, Any]]:
        """Return the rows of a method on a data set, those of `suite` where they are of several suites."""
        by_suite = self._parts.get((dataset, canonical(method)), {})
        return by_suite.get(suite) or next(iter(by_suite.values()), [])

    def values(self, suite: str, dataset: str, method: str, metric: str) -> dict[int, float]:
        """Return a metric's mean over seeds by split, from results that finished; splits without a value are left out.

        Args:
            suite: suite whose results are taken, if the method was run on the data set in several suites.
            dataset: name of the data set.
            method: name of the method.
            metric: a column, or a key of the diagnostics.
        """
        values: dict[int, list[float]] = {}
        for cell in self._part(suite, dataset, method):
            value = _number(cell.get(metric))
            if cell["status"] == "ok" and not isnan(value):
                values.setdefault(int(cell["split"]), []).append(value)
        return {split: sum(of_seeds) / len(of_seeds) for split, of_seeds in sorted(values.items())}

    def part(self, suite: str, dataset: str, method: str) -> RunPart | None:
        """Return how many splits of a method on a data set are planned, were run, and failed; None if none was run."""
        cells = self._part(suite, dataset, method)
        if not cells:
            return None
        tried = {cell["split"] for cell in cells}
        finished = {cell["split"] for cell in cells if cell["status"] == "ok"}
        planned = self._planned.get((dataset, canonical(method))) or self._most_tried[dataset]
        return RunPart(len(tried), len(tried - finished), max(planned, len(tried)))

    def ratio(self, dataset: str) -> float:
        """Return n_test / n_train, a measure of the dependence between splits (`leaderboards.stats.dependence`).

        It is 0 for splits that share one test set. A claim is then about runs on these test data, as the papers'
        statistics are.
        """
        ratio = self._ratios.get(dataset, 0.0)
        return 0.0 if isnan(ratio) else ratio

    @cached_property
    def _ratios(self) -> dict[str, float]:
        return {} if self.cells.empty else ratios(self.cells)

    @property
    def planned(self) -> list[tuple[str, str]]:
        """Pairs of data set and method that the replication plans to run."""
        return list(self._planned)

    def gaps(self) -> list[Gap]:
        """Return what is missing from the planned runs: methods without results, missing splits and failures."""
        parts = {(dataset, method): self.part("", dataset, method) for dataset, method in self._planned}
        missing = {where: part.in_words if part else "not run" for where, part in parts.items()}
        return [Gap(*where, words) for where, words in missing.items() if words]


def _of_latest_protocol(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the protocol that was run last, for each method and data set."""
    if cells.empty:  # of most entries, and grouping a frame without rows takes as long as one with a thousand
        return cells
    latest = cells.groupby([*CELL, "protocol_hash"])["finished_at"].transform("max")
    newest = latest.groupby([cells[name] for name in CELL]).transform("max")
    return cells[latest == newest]


def _planned_splits(entry: Entry) -> dict[tuple[str, str], int]:
    """Return the number of splits by (data set, method) of the entry's runs; 0 for runs that do not name them."""
    planned: dict[tuple[str, str], int] = {}
    for run in entry.runs:
        for dataset in run.datasets:
            for method in run.methods:
                key = dataset, canonical(method)
                planned[key] = planned.get(key, 0) + (_count(run.splits) if run.splits else 0)
    return planned


@cache
def canonical(method: str) -> str:
    """Return a method's name with its options in alphabetical order and numbers in the shortest form."""
    try:
        options = {name: _shortest(text) for name, text in texts_of(method).items()}
    except InvalidOption:  # a paper's name for a method that nothing here measures
        return method
    return with_options(registered(method), options)


def _shortest(text: str) -> str:
    try:
        return repr(float(text)).removesuffix(".0")
    except ValueError:
        return text


def _count(splits: str) -> int:
    """Return the number of splits in a text like "0-4,7"."""
    ends = [part.partition("-") for part in splits.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return nan
