"""A pytest fixture that makes results of benchmark cells; `tests/conftest.py` provides it to all tests."""

from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

from lockstep_bench.bench.results.record import CellResult, DataFacts, FitFacts, Outcome, Provenance, TuningFacts
from lockstep_bench.shared.columns import METRICS

DATA = {"task": "regression", "n_train": 9, "n_test": 1, "n_ood": 0, "data_sha256": "d", "split_sha256": "s"}
TUNING = {"hparams": "{}", "n_trials": 1, "n_trials_failed": 0}
FIT = {"fit_seconds": 1.0, "n_weights": 2, "n_parameters": 3}
PROVENANCE = {
    "code_revision": "abc",
    "versions": "{}",
    "device": "cpu",
    "host": "here",
    "finished_at": datetime(2024, 2, 29, 12, tzinfo=UTC),
}


@pytest.fixture
def result_of() -> Callable[..., CellResult]:
    """Return a function that makes the result of a cell from a status ("ok" by default) and columns of its row.

    Results have metrics only if their status is "ok".
    """

    def make(cell, status="ok", tables=None, **columns: Any) -> CellResult:
        def part(kind: type, defaults: dict[str, Any]) -> Any:
            given = {each.name: columns.pop(each.name) for each in fields(kind) if each.name in columns}
            return kind(**defaults | given) if given else None

        metrics = {name: columns.pop(name) for name in METRICS if name in columns}
        outcome = Outcome(
            status=status,
            metrics=metrics if status == "ok" else {},
            tables=tables or {},
            data=part(DataFacts, DATA),
            tuning=part(TuningFacts, TUNING),
            fit=part(FitFacts, FIT),
            **{name: columns.pop(name) for name in ("error", "error_class", "search_space") if name in columns},
        )
        provenance = part(Provenance, PROVENANCE) or Provenance(**PROVENANCE)
        return CellResult(cell=cell, outcome=outcome, provenance=provenance, **{"elapsed_seconds": 4.0} | columns)

    return make
