"""The ledger: printed numbers that somebody doubts, compared with what others found and with our own results.

`ledger.toml` holds the disputes. Each has one printed number and a list of readings: quantities of kept rows that the
number may be. The first reading is what the number is said to be; the others are its explanations, such as the same
score in other units, of other splits, or of another protocol. The verdict follows from these alone:

- reproduced: the first reading agrees with the printed number, by the rules of `judgement`;
- explained: it does not, and another reading agrees, or is at least `NEARER` times nearer to the printed number than
  the first. Of several explanations the nearest one counts;
- undecided: neither, and the standard errors are too large to tell (`judgement.UNDECIDED`);
- not reproduced: otherwise.

A spread and a minimum over splits have no standard error here. If the printed number has none either, the two agree
within 10 %.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.replications.judgement import AGREES, UNDECIDED, Estimate, estimate, judge

REPRODUCED, EXPLAINED, NOT_REPRODUCED = "reproduced", "explained", "not reproduced"
NEARER = 5.0
SPREADS = ("stderr", "sd", "")
NAMED = ["suite", "dataset", "method"]  # names that a reading gives in full
STATISTICS = ("mean", "median", "min", "sd", "stderr", "sum")


@dataclass(frozen=True)
class Number:
    """A number that somebody printed.

    Attributes:
        value: the number.
        by: who printed it, and where in the work.
        source: address at which we read it.
        spread: what stands after its ±; NaN for nothing.
        kind: what the spread is: "stderr", a standard deviation over runs ("sd"), or "" for none.
        n: number of splits or runs behind it; NaN if unknown.
    """

    value: float
    by: str
    source: str
    spread: float = nan
    kind: str = ""
    n: float = nan

    @property
    def estimate(self) -> Estimate:
        """The number with its standard error; a standard deviation over n runs is divided by sqrt(n)."""
        stderr = self.spread / sqrt(self.n) if self.kind == "sd" else self.spread
        return Estimate(self.value, stderr, self.n)


@dataclass(frozen=True)
class Reading:
    """A quantity of kept rows that a printed number may be.

    Attributes:
        label: what the quantity is, in words that follow "it is".
        suite, preset, dataset, method: names that select the rows; `preset@hash` selects one of its protocols.
        metric: column of the rows.
        statistic: "mean", "median", "min", "sd" or "stderr" over splits, or "sum": the mean over splits of the metric
            times the number of test points.
        negated: whether the sign is changed, as for a log-likelihood that is read from `nmll`.
    """

    label: str
    suite: str
    preset: str
    dataset: str
    method: str
    metric: str
    statistic: str = "mean"
    negated: bool = False


@dataclass(frozen=True)
class Dispute:
    """A printed number that somebody doubts.

    Attributes:
        name: short name.
        title: the number in words.
        about: what is doubted, and what our rows do differently from the printed protocol.
        printed: the number.
        command: command that makes the rows of the readings.
        readings: what the number may be; the first is what it is said to be.
        found: what others found or printed for the same quantity.
        thread: address of the issue or pull request that doubts it; "" for none.
    """

    name: str
    title: str
    about: str
    printed: Number
    command: str
    readings: tuple[Reading, ...]
    found: tuple[Number, ...] = ()
    thread: str = ""


class Settled(NamedTuple):
    """A dispute with the values of its readings and its verdict.

    Attributes:
        dispute: the dispute.
        estimates: values of the readings, one each.
        verdict: `REPRODUCED`, `EXPLAINED`, `NOT_REPRODUCED` or "undecided".
        explanation: label of the reading that explains the number; "" without one.
    """

    dispute: Dispute
    estimates: tuple[Estimate, ...]
    verdict: str
    explanation: str


@cache
def disputes() -> tuple[Dispute, ...]:
    """Return the disputes of `ledger.toml`."""
    return read(Path(__file__).with_name("ledger.toml").read_text(encoding="utf-8"))


def read(text: str) -> tuple[Dispute, ...]:
    """Return the disputes in a text of TOML: tables `[[dispute]]` with the attributes of `Dispute`."""
    return tuple(_dispute(table) for table in tomllib.loads(text)["dispute"])


def columns(disputes: Sequence[Dispute]) -> list[str]:
    """Return the columns of result rows that `settle` reads."""
    metrics = (reading.metric for dispute in disputes for reading in dispute.readings)
    return list(dict.fromkeys((*NAMED, "preset", "protocol_hash", "status", "n_test", *metrics)))


def settle(disputes: Sequence[Dispute], cells: pd.DataFrame) -> list[Settled]:
    """Return the disputes with their verdicts, without those of which a reading has no row.

    Args:
        disputes: the disputes.
        cells: result rows, columns of `shared.schema.CELLS`; `columns` has those that are needed.
    """
    settled = []
    places = cells.groupby(NAMED, observed=True).indices if len(cells) else {}
    for dispute in disputes:
        named = {reading: tuple(getattr(reading, name) for name in NAMED) for reading in dispute.readings}
        if not all(names in places for names in named.values()):
            continue
        values = tuple(value_of(reading, cells.iloc[places[names]]) for reading, names in named.items())
        if all(value.n for value in values):
            verdict, chosen = verdict_on(dispute.printed.estimate, values)
            settled.append(Settled(dispute, values, verdict, dispute.readings[chosen].label if chosen else ""))
    return settled


def verdict_on(printed: Estimate, values: Sequence[Estimate]) -> tuple[str, int]:
    """Return the verdict on a printed number, and the index of the reading that explains it; 0 if none does.

    Args:
        printed: the printed number.
        values: values of the readings; the first is what the number is said to be.
    """
    first, *others = (judge(value, printed).verdict for value in values)
    if first == AGREES:
        return REPRODUCED, 0
    distances = [abs(value.value - printed.value) for value in values]
    explaining = [
        index
        for index, verdict in enumerate(others, start=1)
        if verdict == AGREES or NEARER * distances[index] <= distances[0]
    ]
    if explaining:
        return EXPLAINED, min(explaining, key=distances.__getitem__)
    return (UNDECIDED if first == UNDECIDED else NOT_REPRODUCED), 0


def value_of(reading: Reading, cells: pd.DataFrame) -> Estimate:
    """Return the value of a reading over all finished splits, with its standard error if it is a mean or median.

    Without such a split, the value is NaN and n is 0.
    """
    preset, _, protocol = reading.preset.partition("@")
    chosen = cells[
        (cells["suite"] == reading.suite)
        & (cells["preset"] == preset)
        & cells["protocol_hash"].str.startswith(protocol)
        & (cells["dataset"] == reading.dataset)
        & (cells["method"] == reading.method)
        & (cells["status"] == "ok")
    ]
    values = chosen[reading.metric].dropna().astype(float)
    if values.empty:
        return Estimate(nan, nan, 0)
    if reading.statistic == "sum":
        values = values * chosen.loc[values.index, "n_test"]
    if reading.negated:
        values = -values
    return _statistic(values, reading.statistic)


def _statistic(values: pd.Series, statistic: str) -> Estimate:
    n = len(values)
    if statistic in ("mean", "sum", "median"):
        return estimate(values.tolist(), statistic)
    if statistic == "min":
        return Estimate(float(values.min()), nan, n)
    deviation = float(values.std(ddof=1))
    return Estimate(deviation / sqrt(n) if statistic == "stderr" else deviation, nan, n)


def _dispute(table: Mapping[str, Any]) -> Dispute:
    rest = {key: value for key, value in table.items() if key not in ("printed", "found", "reading")}
    return Dispute(
        **rest,
        printed=_number(table["printed"]),
        readings=tuple(Reading(**reading) for reading in table["reading"]),
        found=tuple(_number(number) for number in table.get("found", ())),
    )


def _number(table: Mapping[str, Any]) -> Number:
    number = Number(**table)
    if number.kind not in SPREADS or isnan(number.spread) == bool(number.kind):
        raise ValueError(f"{number}: write a spread and its kind, one of {SPREADS}, or neither")
    return number
