"""Entries: each is a table or figure of a paper, with the runs that replicate it and the claims to test.

The TOML files in this folder hold the entries: the key `paper`, which equals `source` in
`leaderboards/data/published.csv`, and tables `[[entry]]` with the attributes of `Entry`, `[[entry.run]]` of `Run` and
`[[entry.claim]]` of `Claim`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

SUITE = "papers"  # name under which `run_all.py --suite` runs entries


@dataclass(frozen=True)
class Run:
    """Runs of some methods on some data sets under one protocol.

    Attributes:
        suite, preset: names of the suite and of its preset, whose protocol `settings` changes.
        methods, datasets: names of the methods and data sets.
        splits: the splits, written as in `--splits`; "" for those of the preset.
        settings: fields of `shared.protocol.Protocol` that differ from the preset, with their values.
        hparams: hyper-parameters that are fixed, as in `--hparam`.
    """

    suite: str
    preset: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    splits: str = ""
    settings: Mapping[str, int | str] = field(default_factory=dict)
    hparams: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ratio:
    """A published time that is compared as a ratio to another method's time, because machines differ.

    Attributes:
        measured: column of our results that holds the time.
        over: method whose time the other methods' times are divided by.
    """

    measured: str
    over: str


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that compares a metric of one method with another method's metric, or with a value.

    Attributes:
        text: the claim in our words, with its section.
        metric: name of the metric: a column of the results, or a key of their diagnostics.
        left: method whose metric the statement is about.
        relation: "below", "above", or "within" `margin` of each other.
        right: method that `left` is compared with; "" for `value`.
        value: number that `left` is compared with.
        margin: largest difference that counts as "within".
        datasets: data sets on which the claim is tested; all of the entry by default.
    """

    text: str
    metric: str
    left: str
    relation: str
    right: str = ""
    value: float | None = None
    margin: float | None = None
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A table or figure of a paper.

    Attributes:
        paper: title of the paper; the column `source` in published.csv.
        name: name of the entry on the command line.
        table: the column `table` in published.csv, or "Figure 3", "Section 4.2" if no numbers are published.
        title: what the table or figure shows, in one line.
        protocol: the paper's protocol, in a few sentences.
        departures: all differences between the runs and the paper's protocol; "" for none.
        same_rows_as: another entry whose runs also provide the results for this one; "" for none.
        unavailable: why the entry cannot be run on two cores, with the estimated cost; "" if it can.
        test: test that checks the entry if results cannot, as a path from the repository's root; "" for none.
        runs: runs of the entry.
        of: published methods that the entry covers; by default all methods in the table.
        methods, datasets, metrics: name in published.csv -> name in this project, where the two differ.
        ratios: published times that are compared as ratios, by metric.
        claims: statements that compare methods without a published number.
    """

    paper: str
    name: str
    table: str
    title: str
    protocol: str
    departures: str = ""
    same_rows_as: str = ""
    unavailable: str = ""
    test: str = ""
    runs: tuple[Run, ...] = ()
    of: tuple[str, ...] = ()
    methods: Mapping[str, str] = field(default_factory=dict)
    datasets: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    ratios: Mapping[str, Ratio] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    @property
    def rows(self) -> str:
        """Name of the entry whose results this one uses; it is the value of `preset` in these results."""
        return self.same_rows_as or self.name

    @property
    def command(self) -> str:
        """Command that makes the results of this entry, or that runs its test."""
        return (
            f"python -m pytest {self.test}" if self.test else f"python run_all.py --suite {SUITE} --preset {self.rows}"
        )


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries, grouped by paper."""
    return read(sorted(Path(__file__).parent.glob("*.toml")))


def read(paths: Sequence[Path]) -> tuple[Entry, ...]:
    """Return the entries in TOML files."""
    papers = [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths]
    return tuple(_entry(paper["paper"], table) for paper in papers for table in paper["entry"])


def _entry(paper: str, table: Mapping[str, Any]) -> Entry:
    values = {key: value for key, value in table.items() if key not in ("run", "claim", "ratios")}
    ratios = {metric: Ratio(**ratio) for metric, ratio in table.get("ratios", {}).items()}
    runs = tuple(Run(**_with_tuples(run)) for run in table.get("run", ()))
    claims = tuple(Claim(**_with_tuples(claim)) for claim in table.get("claim", ()))
    return Entry(paper=paper, ratios=ratios, runs=runs, claims=claims, **_with_tuples(values))


def _with_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
