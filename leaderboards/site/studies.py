"""Tuning and training curves of a cell, from the Optuna study and the diagnostics that are stored with its result."""

import os
import warnings
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lockstep_bench.leaderboards.site.cell_details import Row
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, unsealed
from lockstep_bench.shared.rows.studies import read_study
from lockstep_bench.shared.schema import cell_key

if TYPE_CHECKING:
    import optuna

FEWEST_TRIALS = 10  # required for a curve or an importance


class Tuning(NamedTuple):
    """Summary of one Optuna study.

    Attributes:
        best: the best objective so far, after each finished trial; lower is better.
        importances: importance of each hyper-parameter; they sum to 1. Empty if Optuna cannot compute them.
    """

    best: list[float]
    importances: dict[str, float]


def tuning(row: Row) -> Tuning | None:
    """Return the summary of a cell's study.

    The result is None if the study is not stored or cannot be read, if Optuna is not installed, or if there are fewer
    than `FEWEST_TRIALS` trials.
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


def prepare() -> None:
    """Import Optuna's measures of importance, which import scikit-learn."""
    with suppress(ImportError):
        import optuna.importance  # noqa: F401


def _path(row: Row, table: str, suffix: str) -> Path:
    """Return the file of a cell in one of the folders beside `cells`."""
    preset = row["preset"].partition("@")[0]
    names = (row["suite"], row["dataset"], row["method"], preset, row["protocol_hash"], row["split"], row["seed"])
    return Path(row["folder"]) / table / f"{cell_key(*names)}.{suffix}"


def _read(path: Path) -> Tuning | None:
    try:
        study = read_study(path)
    except (ImportError, OSError, ValueError):  # pages are built without Optuna where results are only published
        return None
    scores = [trial.value for trial in study.get_trials(deepcopy=False) if trial.value is not None]
    if len(scores) < FEWEST_TRIALS:
        return None
    best = [min(scores[: place + 1]) for place in range(len(scores))]
    return Tuning(best, _importances(study))


def _importances(study: "optuna.Study") -> dict[str, float]:
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the evaluator being experimental
        try:
            return get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
        except (RuntimeError, ValueError):  # too few trials, or all equal
            return {}
