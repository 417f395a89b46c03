"""Tuning and training curves of a cell, from the Optuna study and the diagnostics that are stored with its result."""

import json
import os
from hashlib import sha256
from itertools import compress
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lockstep_bench.leaderboards.site.cell_details import Row
from lockstep_bench.leaderboards.stats.importance import Scale, importances
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, unsealed
from lockstep_bench.shared.schema import cell_key

FEWEST_TRIALS = 10  # required for a curve or an importance


class Tuning(NamedTuple):
    """Summary of one Optuna study.

    Attributes:
        best: the best objective so far, after each finished trial; lower is better.
        importances: importance of each hyper-parameter; they sum to 1.
    """

    best: list[float]
    importances: dict[str, float]


def tuning(row: Row) -> Tuning | None:
    """Return the summary of a cell's study.

    The result is None if the study is not stored or cannot be read, or if there are fewer than `FEWEST_TRIALS` trials.
    """
    if not row["n_trials"] >= FEWEST_TRIALS:
        return None
    path = _path(row, "studies", "json")
    return _read(path) if os.path.isfile(path) else None


def training(row: Row) -> dict[str, list[tuple[int, float]]]:
    """Return the diagnostics recorded during a cell's final fit: name -> pairs (update, value), finite values only.

    The result is {} if the method records none, or if the table cannot be read.
    """
    path = _path(row, "training", "parquet")
    if not os.path.isfile(path):  # reading a pipe would wait for ever
        return {}
    try:
        table = unsealed(path.read_bytes()).select(["update", "name", "value"])
    except (OSError, Damaged, KeyError):
        return {}
    diagnostics: dict[str, list[tuple[int, float]]] = {}
    for update, name, value in zip(*table.to_pydict().values(), strict=True):
        if isfinite(value):
            diagnostics.setdefault(name, []).append((update, value))
    return diagnostics


def _path(row: Row, table: str, suffix: str) -> Path:
    """Return the file of a cell in one of the folders beside `cells`."""
    preset = row["preset"].partition("@")[0]
    names = (row["suite"], row["dataset"], row["method"], preset, row["protocol_hash"], row["split"], row["seed"])
    return Path(row["folder"]) / table / f"{cell_key(*names)}.{suffix}"


def _read(path: Path) -> Tuning | None:
    try:
        content = _content(path)
        trials = [trial for trial in content["trials"] if trial["value"] is not None]
        if len(trials) < FEWEST_TRIALS:
            return None
        scores = [float(trial["value"]) for trial in trials]
        best = [min(scores[: place + 1]) for place in range(len(scores))]
        space = {name: Scale(**json.loads(scale)) for name, scale in content["space"].items()}
        finite = np.isfinite(scores)
        settings = list(compress((trial["params"] for trial in trials), finite))
        return Tuning(best, importances(space, settings, np.array(scores)[finite]))
    except Exception:  # a file that somebody made raises all kinds of errors
        return None


def _content(path: Path) -> dict[str, Any]:
    """Return what `shared.rows.studies.write_study` wrote, without Optuna.

    Raises:
        ValueError: The file has changed since it was written, or holds something else.
    """
    stored = json.loads(path.read_bytes())
    content: dict[str, Any] = stored["study"]
    if stored["sha256"] != sha256(json.dumps(content).encode()).hexdigest():
        raise ValueError(f"{path} has changed since it was written")
    return content
