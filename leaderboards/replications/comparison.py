"""Comparison of every replicated table and figure of a paper with the results of the runs that repeat it.

An entry is such a table or figure, as listed in `shared.papers`.
"""

from collections.abc import Iterable
from functools import cached_property
from math import nan
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.data.frames import records
from lockstep_bench.leaderboards.data.published import Published
from lockstep_bench.leaderboards.replications.claims import NOT_RUN, JudgedClaim, judge_claim, tally_of
from lockstep_bench.leaderboards.replications.judgement import (
    AGREES,
    DIFFERS,
    UNDECIDED,
    Estimate,
    Judgement,
    estimate,
    family_wise,
    judge,
    judge_ratio,
)
from lockstep_bench.leaderboards.replications.rows import Gap, ReplicationRows, RunPart, canonical
from lockstep_bench.leaderboards.wording.formats import counted
from lockstep_bench.shared.papers.entries import Claim, Entry

NOT_COMPARED = "not compared"


class Compared(NamedTuple):
    """A published number and the measured number that it is compared with.

    Attributes:
        dataset, method, metric: this project's names, which may differ from the paper's.
        statistic: "mean" or "median"; "ratio" for a time divided by that of the method `over`.
        over: method by whose time a ratio divides; "" for other statistics.
        theirs: the published number.
        ours: the measured number; its value is NaN if there is none.
        judgement: outcome of the comparison; None if the two are not compared.
        differs: whether the two differ significantly after Holm's correction for all numbers of the table or figure.
        reason: why the two are not compared; "" if they are.
        missing: splits that the measured number lacks, in words; "" for none.
        note: the note on the number in published.csv.
    """

    dataset: str
    method: str
    metric: str
    statistic: str
    over: str
    theirs: Estimate
    ours: Estimate
    judgement: Judgement | None
    differs: bool
    reason: str
    missing: str
    note: str

    @property
    def verdict(self) -> str:
        """Return the verdict on the two numbers: "agrees", "differs", "undecided" or `NOT_COMPARED`."""
        return self.judgement.verdict if self.judgement else NOT_COMPARED

    @property
    def difference(self) -> float:
        """Measured minus published in joint standard errors; NaN where that is unknown."""
        return self.judgement.difference if self.judgement else nan


class Replication(NamedTuple):
    """A replicated table or figure of a paper, with the comparisons of its numbers and the tests of its claims.

    Attributes:
        entry: the table or figure.
        unavailable: why its runs cannot be made here (such as the need of a GPU); "" if they can.
        cells: number of results that were run for it.
        failures: number of these results that did not finish.
        earlier: number of results of earlier protocols, which are left out.
        gaps: what is missing from its runs, in words.
        compared: its published numbers, each with the measured one.
        claims: its claims, each with its tests.
    """

    entry: Entry
    unavailable: str
    cells: int
    failures: int
    earlier: int
    gaps: tuple[Gap, ...]
    compared: tuple[Compared, ...]
    claims: tuple[JudgedClaim, ...]

    @property
    def judged(self) -> tuple[Compared, ...]:
        """Published numbers that have a verdict."""
        return tuple(row for row in self.compared if row.judgement)

    @property
    def n_agree(self) -> int:
        """Number of published numbers that agree with the measured ones, without a correction for multiple tests."""
        return sum(row.verdict == AGREES for row in self.judged)

    @property
    def status(self) -> str:
        """How the table or figure is checked: "run" (results), "test" (unit test), "not run yet", "not run here"."""
        if self.cells:
            return "run"
        if self.entry.test:
            return "test"
        return "not run here" if self.unavailable else "not run yet"

    @property
    def verdict(self) -> str:
        """Return the verdict on all its numbers together, as in "agrees" or "differs in 2 of 24"; "" if it has none."""
        counts = {
            DIFFERS: sum(row.differs for row in self.judged),
            UNDECIDED: sum(row.verdict == UNDECIDED for row in self.judged),
        }
        parts = [f"{verdict} in {n}" for verdict, n in counts.items() if n]
        return f"{', '.join(parts)} of {len(self.judged)}" if parts else AGREES if self.judged else ""

    @property
    def verdict_on_claims(self) -> str:
        """Return how many claims have each verdict, as in "2 hold, 1 mixed"; "" if no claim was run."""
        return ", ".join(tally_of(self.claims).values())


def replications(cells: pd.DataFrame, published: pd.DataFrame, entries: Iterable[Entry]) -> list[Replication]:
    """Return the comparison of every replicated table and figure with its results, in the order of `entries`.

    Args:
        cells: result rows, columns of `shared.schema.CELLS`; results of an entry have its name as their preset.
        published: published numbers, as `leaderboards.data.published.read_published` returns them.
        entries: the replicated tables and figures of papers.
    """
    every = {entry.name: entry for entry in entries}
    theirs = dict(list(published.groupby(["source", "table"])))
    empty = cells.iloc[:0]
    by_name = dict(list(cells[cells["preset"].isin({entry.rows for entry in every.values()})].groupby("preset")))
    rows = {
        name: ReplicationRows(by_name.get(name, empty), every[name])
        for name in {entry.rows for entry in every.values()}
    }
    return [
        _replication(entry, every[entry.rows].unavailable, rows[entry.rows], theirs.get((entry.paper, entry.table)))
        for entry in every.values()
    ]


def _replication(entry: Entry, unavailable: str, rows: ReplicationRows, published: pd.DataFrame | None) -> Replication:
    numbers = [] if published is None else list(records(published, Published))
    pairs = _Pairs(entry, rows, [number for number in numbers if not entry.of or number.method in entry.of])
    compared = pairs.compared()
    differs = iter(family_wise([row.judgement for row in compared if row.judgement]))
    compared = [row._replace(differs=next(differs)) if row.judgement else row for row in compared]
    return Replication(
        entry,
        entry.unavailable or unavailable,
        len(rows.cells),
        int((rows.cells["status"] != "ok").sum()),
        rows.n_earlier,
        tuple(rows.gaps()),
        tuple(compared),
        tuple(_claim(claim, rows) for claim in entry.claims),
    )


class _Pairs:
    """The published numbers of an entry and how each is compared."""

    def __init__(self, entry: Entry, rows: ReplicationRows, published: list[Published]):
        self.entry = entry
        self.rows = rows
        self.published = published

    def compared(self) -> list[Compared]:
        """Return one record per published number; those of the methods that times are divided by are left out."""
        return [
            self._ratio(number) if number.metric in self.entry.ratios else self._number(number)
            for number in self.published
            if not self._is_divisor(number)
        ]

    def _is_divisor(self, number: Published) -> bool:
        ratio = self.entry.ratios.get(number.metric)
        return ratio is not None and self._method(number) == ratio.over

    def _method(self, number: Published) -> str:
        return self.entry.methods.get(number.method, number.method)

    def _number(self, number: Published) -> Compared:
        metric = self.entry.metrics.get(number.metric, number.metric)
        theirs = Estimate(number.value, number.stderr, number.n)
        values, part = self._values(number, self._method(number), metric)
        named = number.method in self.entry.methods or number.metric in self.entry.metrics
        reason = "" if named else number.incomparable
        if not values and not reason:
            reason = number.incomparable or _why_none(part)
        ours = estimate(list(values.values()), number.statistic) if values else Estimate(nan)
        judgement = None if reason else judge(ours, theirs, number.statistic)
        return self._record(number, metric, number.statistic, "", theirs, ours, judgement, reason, part)

    def _ratio(self, number: Published) -> Compared:
        ratio = self.entry.ratios[number.metric]
        divided, part = self._values(number, self._method(number), ratio.measured)
        by, _ = self._values(number, ratio.over, ratio.measured)
        shared = divided.keys() & by.keys()
        theirs, ours = Estimate(number.value / self._divisors.get(_place(number), nan)), Estimate(nan)
        if shared:
            quotient = sum(divided[split] for split in shared) / sum(by[split] for split in shared)
            ours = Estimate(quotient, n=len(shared))
        reason = "" if shared else _why_none(part, time=True)
        if pd.isna(theirs.value):
            reason = f"the paper gives no time of {ratio.over}"
        judgement = None if reason else judge_ratio(ours.value, theirs.value)
        return self._record(number, number.metric, "ratio", ratio.over, theirs, ours, judgement, reason, part)

    @cached_property
    def _divisors(self) -> dict[tuple[str, str, str], float]:
        """Published times of the methods whose times are the divisors of ratios."""
        return {_place(number): number.value for number in self.published if self._is_divisor(number)}

    def _values(self, number: Published, method: str, metric: str) -> tuple[dict[int, float], RunPart | None]:
        where = number.suite, self.entry.datasets.get(number.dataset, number.dataset), method
        return self.rows.values(*where, metric), self.rows.part(*where)

    def _record(
        self,
        number: Published,
        metric: str,
        statistic: str,
        over: str,
        theirs: Estimate,
        ours: Estimate,
        judgement: Judgement | None,
        reason: str,
        part: RunPart | None,
    ) -> Compared:
        dataset = self.entry.datasets.get(number.dataset, number.dataset)
        missing = part.in_words if part else ""
        method = self._method(number)
        return Compared(
            dataset, method, metric, statistic, over, theirs, ours, judgement, False, reason, missing, number.note
        )


def _place(number: Published) -> tuple[str, str, str]:
    return number.suite, number.dataset, number.metric


def _why_none(part: RunPart | None, time: bool = False) -> str:
    """Return why the results have no value to compare."""
    if part is None:
        return NOT_RUN
    if part.n_failed == part.n_tried:
        return f"{counted(part.n_failed, 'split')} failed"
    return "not timed alone on an idle device" if time else "not measured by these rows"


def _claim(claim: Claim, rows: ReplicationRows) -> JudgedClaim:
    """Return a claim judged on each data set whose runs have its methods."""
    needed = {canonical(name) for name in (claim.left, claim.right) if name}
    methods: dict[str, set[str]] = {}
    for dataset, method in rows.planned:
        methods.setdefault(dataset, set()).add(method)
    datasets = claim.datasets or [name for name, names in methods.items() if needed <= names]
    return JudgedClaim(
        claim,
        tuple(
            judge_claim(
                claim,
                dataset,
                rows.values("", dataset, claim.left, claim.metric),
                rows.values("", dataset, claim.right, claim.metric) if claim.right else {},
                rows.ratio(dataset),
            )
            for dataset in datasets
        ),
    )
