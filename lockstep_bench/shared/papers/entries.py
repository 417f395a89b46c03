"""Entries: each table and figure of a paper, with what is run for it and what the paper claims. Imports nothing heavy.

The TOML files of this folder hold them: the key `paper`, which equals `source` in `leaderboards/data/published.csv`,
and tables `[[entry]]` with the attributes of `Entry`, `[[entry.run]]` of `Run` and `[[entry.claim]]` of `Claim`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

SUITE = "papers"  # name under which `run_all.py --suite` runs entries
RELATIONS = ("below", "above", "within")

T = TypeVar("T")


class InvalidEntry(ValueError):
    """A TOML file of replications that cannot be used. The message names the file, the entry, and what is wrong."""


@dataclass(frozen=True)
class Run:
    """Cells of one protocol.

    Attributes:
        suite, preset: where the protocol starts from.
        methods, datasets: names.
        splits: as in `--splits`; "" for those of the preset.
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
        datasets: where the claim is tested; all of the entry by default.
    """

    text: str
    metric: str
    left: str
    relation: str
    right: str = ""
    value: float | None = None
    margin: float | None = None
    datasets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise InvalidEntry for a claim that says nothing definite."""
        if self.relation not in RELATIONS:
            raise InvalidEntry(f"relation is {self.relation!r}; it must be one of {', '.join(RELATIONS)}")
        if bool(self.right) == (self.value is not None):
            raise InvalidEntry("give either right, a method, or value, a number")
        if (self.relation == "within") != (self.margin is not None):
            raise InvalidEntry("give margin with the relation within, and with no other")


@dataclass(frozen=True)
class Entry:
    """A table or figure of a paper.

    Attributes:
        paper: title; `source` in published.csv.
        name: name on the command line.
        table: `table` in published.csv, or "Figure 3", "Section 4.2" where nothing is published in numbers.
        title: what it shows, in a line.
        protocol: the paper's protocol, in a few sentences.
        departures: every way in which the runs depart from it; "" for none.
        same_rows_as: entry whose runs serve this one too; "" for none.
        unavailable: why the runs are not made on two cores, and their estimated cost; "" if they are.
        test: test that checks the entry where no rows can, as a path from the root of the repository; "" for none.
        runs: what is run.
        of: published methods that the entry is about; all of the table by default.
        methods, datasets, metrics: names here by names in published.csv, where they differ.
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

    def __post_init__(self) -> None:
        """Raise InvalidEntry for an entry that nothing stands behind."""
        behind = [bool(self.runs), bool(self.same_rows_as), bool(self.test)]
        if sum(behind) != 1 and not (self.unavailable and not any(behind)):
            raise InvalidEntry("give one of run, same_rows_as and test; without any, say why in unavailable")

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
    """Return all entries, paper by paper.

    Raises:
        InvalidEntry: a file cannot be used.
    """
    return read(sorted(Path(__file__).parent.glob("*.toml")))


def read(paths: Sequence[Path]) -> tuple[Entry, ...]:
    """Return the entries of TOML files.

    Raises:
        InvalidEntry: a file cannot be used, or two entries have one name.
    """
    every: dict[str, Entry] = {}
    for path in paths:
        contents = tomllib.loads(path.read_text(encoding="utf-8"))
        for table in contents["entry"]:
            name = table.get("name", "without a name")
            try:
                if name in every:
                    raise InvalidEntry("the name is taken by another entry")
                every[name] = _entry(contents["paper"], table)
            except InvalidEntry as problem:
                raise InvalidEntry(f"{path.name}, entry {name}: {problem}") from None
    for entry in every.values():
        if entry.same_rows_as and not (entry.same_rows_as in every and every[entry.same_rows_as].runs):
            raise InvalidEntry(f"entry {entry.name}: same_rows_as {entry.same_rows_as!r} is no entry with runs")
    return tuple(every.values())


def _entry(paper: str, table: Mapping[str, Any]) -> Entry:
    values = {key: value for key, value in table.items() if key not in ("run", "claim", "ratios")}
    ratios = {metric: _record(Ratio, ratio) for metric, ratio in table.get("ratios", {}).items()}
    runs = tuple(_record(Run, run) for run in table.get("run", ()))
    claims = tuple(_record(Claim, claim) for claim in table.get("claim", ()))
    return _record(Entry, values | {"paper": paper, "ratios": ratios, "runs": runs, "claims": claims})


def _record(made: type[T], table: Mapping[str, Any]) -> T:
    """Return a dataclass of a TOML table; lists become tuples."""
    known = {entry.name: entry for entry in fields(made)}  # type: ignore[arg-type]
    if unknown := table.keys() - known.keys():
        raise InvalidEntry(f"{made.__name__.lower()} has no {min(unknown)!r}; allowed: {', '.join(known)}")
    needed = (name for name, entry in known.items() if entry.default is entry.default_factory is MISSING)
    if lacking := [name for name in needed if name not in table]:
        raise InvalidEntry(f"{made.__name__.lower()} lacks {', '.join(lacking)}")
    return made(**{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})
