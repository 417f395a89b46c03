"""What is behind a cell of a table: its splits, chosen hyper-parameters, protocol, fingerprint, errors, its command."""

import json
from typing import NamedTuple

import numpy as np
import pandas as pd

from leaderboards import ran
from leaderboards.commands import command
from leaderboards.metrics import metric

DIGITS = 4  # significant ones of a split's numbers


class Split(NamedTuple):
    """One row of results, printed."""

    split: int
    seed: int
    status: str
    values: list[str]  # of the metrics, then of the hyper-parameters


class Command(NamedTuple):
    """What makes some of the splits again."""

    splits: str
    revision: str
    text: str


class Opened(NamedTuple):
    """One method on one data set under one preset.

    Attributes:
        metrics, hparams: headings of the columns of `splits`.
        facts: what was recorded about how the cells were run, by name.
        errors: (which splits, status, text), one for each different end.
    """

    method: str
    n: int
    n_failed: int
    metrics: list[str]
    hparams: list[str]
    splits: list[Split]
    several_seeds: bool
    commands: list[Command]
    facts: dict[str, str]
    errors: list[tuple[str, str, str]]


def opened(rows: pd.DataFrame, names: list[str]) -> Opened:
    """The details of `rows`, cells of one method, data set and preset, with the metrics `names`."""
    rows = rows.sort_values(["split", "seed"], kind="stable")
    names = [name for name in names if rows[name].notna().any()]
    chosen = [as_object(text) for text in rows["hparams"]]
    hparams = list(dict.fromkeys(name for one in chosen for name in one))
    numbers = [list(map(printed, rows[name])) for name in names]
    splits = [
        Split(split, seed, status, [*(column[place] for column in numbers), *(_value(one.get(h)) for h in hparams)])
        for place, (split, seed, status, one) in enumerate(
            zip(rows["split"], rows["seed"], rows["status"], chosen, strict=True)
        )
    ]
    return Opened(
        rows["method"].iloc[0],
        int((rows["status"] == "ok").sum()),
        int((rows["status"] != "ok").sum()),
        [metric(name).title for name in names],
        hparams,
        splits,
        rows["seed"].nunique() > 1,
        _commands(rows),
        _facts(rows),
        _errors(rows),
    )


def printed(value: float) -> str:
    """A number with four significant digits, a dash for none."""
    if pd.isna(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:#.{DIGITS}g}".rstrip(".").replace("-", "−") if abs(value) < 1e5 else f"{value:.3g}"


def as_object(text: object) -> dict:
    """A JSON object; an empty one where `text` is none."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _value(value: object) -> str:
    return printed(value) if isinstance(value, float) else "–" if value is None else str(value)


def _commands(rows: pd.DataFrame) -> list[Command]:
    """A command for each code revision, protocol and seed among the rows."""
    first = rows.iloc[0]
    found = []
    keys = ["code_revision", "preset", "protocol", "seed"]
    for (revision, preset, protocol, seed), part in rows.groupby(keys, sort=False):
        numbers = sorted({int(split) for split in part["split"]})
        text = command(first["suite"], first["dataset"], first["method"], numbers, preset, protocol, int(seed))
        found.append(Command(ran.ranges(numbers), revision, text))
    return found


def _facts(rows: pd.DataFrame) -> dict[str, str]:
    """How the cells were run, each fact once; those that differ between splits are listed."""
    where = ran.provenance(rows)
    facts = {
        "Protocol": "; ".join(ran.protocol_in_words(text) for text in rows["protocol"].unique()),
        "Protocol hash": _distinct(rows["protocol_hash"]),
        "Code": where.code,
        "Data, SHA-256": _distinct(rows["data_sha256"].str[:16]),
        "Device": where.devices,
        "Host": where.hosts,
        "Versions": where.versions,
        "Finished": where.dates,
    }
    if (trials := rows["n_trials"].dropna()).any():
        failed = int(rows["n_trials_failed"].fillna(0).sum())
        facts["Trials"] = _distinct(trials.astype(int)) + (f", {failed} failed in all" if failed else "")
    said = [one for text in rows["diagnostics"] if (one := as_object(text))]
    for name in dict.fromkeys(name for one in said for name in one):
        values = [one[name] for one in said if isinstance(one.get(name), int | float)]
        if values:
            low, high = min(values), max(values)
            facts[name.replace("_", " ")] = printed(low) + ("" if low == high else f" to {printed(high)}")
    return {name: value for name, value in facts.items() if value}


def _distinct(values: pd.Series) -> str:
    return ", ".join(map(str, sorted(values.dropna().unique())))


def _errors(rows: pd.DataFrame) -> list[tuple[str, str, str]]:
    bad = rows[rows["status"] != "ok"].fillna({"error": "no error text", "log": ""})
    found = []
    for (status, error, log), part in bad.groupby(["status", "error", "log"], sort=False):
        splits = sorted(part["split"].unique())
        label = f"{'split' if len(splits) == 1 else 'splits'} {ran.ranges(splits)}"
        found.append((label, status, f"{error}\n\nLast lines of its log:\n{log}" if log else error))
    return found
