"""What tuning went through: Optuna's journals, kept beside cells in the folder `studies`."""

import warnings
from pathlib import Path
from typing import NamedTuple

from bench.schema import cell_key
from leaderboards.site.cell_details import Row

FEWEST = 10  # trials that a curve or an importance needs to say anything


class Tuning(NamedTuple):
    """One study.

    Attributes:
        best: the best objective so far, after each finished trial; lower is better.
        importances: of hyper-parameters, adding up to 1; empty where Optuna cannot tell them.
    """

    best: list[float]
    importances: dict[str, float]


def tuning(row: Row) -> Tuning | None:
    """The study of a cell, or None: not kept, not readable, or of fewer than `FEWEST` trials."""
    if not row["n_trials"] >= FEWEST:
        return None
    preset = row["preset"].partition("@")[0]
    names = (row["suite"], row["dataset"], row["method"], preset, row["protocol_hash"], row["split"], row["seed"])
    path = Path(row["folder"]) / "studies" / f"{cell_key(*names)}.jsonl"
    return _read(path) if path.exists() else None


def _read(path: Path) -> Tuning | None:
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
        from optuna.trial import TrialState
    except ImportError:  # pages are built without Optuna where results are only published
        return None
    try:
        storage = JournalStorage(JournalFileBackend(str(path)))
        (name,) = optuna.get_all_study_names(storage)
        study = optuna.load_study(study_name=name, storage=storage)
        scores = [trial.value for trial in study.get_trials(False, (TrialState.COMPLETE,))]
    except Exception:  # a journal that was cut or spoilt raises this or that, and no number depends on it
        return None
    if len(scores) < FEWEST:
        return None
    best = [min(scores[: place + 1]) for place in range(len(scores))]
    return Tuning(best, _importances(study))


def _importances(study) -> dict[str, float]:
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the evaluator is experimental
        try:
            return get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
        except (RuntimeError, ValueError):  # too few trials, or all alike
            return {}
