"""Entries: each table and figure of a paper, with what is run for it and what the paper claims. Imports nothing heavy.

The TOML files of this folder hold them: the key `paper`, which equals `source` in `leaderboards/data/published.csv`,
and tables `[[entry]]` with the attributes of `Entry`, `[[entry.run]]` of `Run` and `[[entry.claim]]` of `Claim`.
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
    """Cells of one protocol.

    Attributes:
        suite, preset: where the protocol starts from.
        methods, datasets: names.
        splits: the splits, written as in `--splits`; "" for those of the preset.
        settings: fields of `shared.protocol.Protocol` that differ.
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
    """A published time, compared as a ratio because machines differ.

    Attributes:
        measured: column that is measured here.
        over: method whose time divides the others'.
    """

    measured: str
    over: str


@dataclass(frozen=True)
class Claim:
    """A statement of a paper without a number: a metric of one method is `relation` that of another, or a value.

    Attributes:
        text: the claim in our words, with its section.
        metric: column of a row, or key of its diagnostics.
        left: method.
        relation: "below", "above", or "within" `margin` of each other.
        right: method that `left` is compared with; "" for `value`.
        value: number that `left` is compared with.
        margin: largest difference of "within".
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
        paper: title; `source` in published.csv.
        name: name on the command line.
        table: `table` in published.csv, or "Figure 3", "Section 4.2" where nothing is published in numbers.
        title: what the table or figure shows, in a line.
        protocol: the paper's protocol, in a few sentences.
        departures: every way in which the runs depart from it; "" for none.
        same_rows_as: another entry whose runs provide the rows of this one too; "" for none.
        unavailable: why the entry is not run on two cores, with the estimated cost; "" if it is run.
        test: test that checks the entry if rows cannot, as a path from the repository's root; "" for none.
        runs: runs of the entry.
        of: published methods that the entry covers; by default all of the table.
        methods, datasets, metrics: name in published.csv -> our name, where the two differ.
        ratios: published times that are compared as ratios, by metric.
        claims: statements without a number.
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
        """Name of the entry whose rows serve this one: `preset` in those rows."""
        return self.same_rows_as or self.name

    @property
    def command(self) -> str:
        """Command that makes the rows, or that runs the test."""
        return (
            f"python -m pytest {self.test}" if self.test else f"python run_all.py --suite {SUITE} --preset {self.rows}"
        )


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries, paper by paper."""
    return read(sorted(Path(__file__).parent.glob("*.toml")))


def read(paths: Sequence[Path]) -> tuple[Entry, ...]:
    """Return the entries of TOML files."""
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
