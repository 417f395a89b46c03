"""Records have the names of the schema."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.record import CellResult, DataFacts, FitFacts, Outcome, Provenance, TuningFacts
from lockstep_bench.shared.columns import CELLS, METRICS
from lockstep_bench.shared.protocol import Protocol

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)
TUNING = {"hparams": "{}", "n_trials": 3, "n_trials_failed": 1}


def test_unknown_metric_raises_and_suggests_nearest_name():
    with pytest.raises(ValueError, match=r"metric 'nmll_momnet' is unknown; did you mean 'nmll_moment'\?.*rmse"):
        Outcome(status="ok", metrics={"nmll_momnet": 1.0})


@pytest.mark.parametrize("name", TUNING)
def test_missing_required_fields_raise(name):
    with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{name}'"):
        TuningFacts(**{other: value for other, value in TUNING.items() if other != name})


@pytest.mark.parametrize("field", [{"status": "fine"}, {"tables": {"prediction": None}}])
def test_unknown_statuses_and_tables_raise(field):
    with pytest.raises(ValueError, match="is unknown"):
        Outcome(**field)


def test_unknown_execution_names_raise():
    with pytest.raises(ValueError, match="execution 'nativ' is unknown; did you mean 'native'"):
        FitFacts(fit_seconds=1.0, n_weights=2, n_parameters=3, execution="nativ")


@pytest.mark.parametrize("status", [None, "failed", "diverged", "timeout"])
def test_only_cells_with_status_ok_have_metrics(status):
    with pytest.raises(ValueError, match="only one of status 'ok' may"):
        Outcome(status=status, metrics={"nmll": 1.0})


def test_result_without_a_status_is_refused(result_of):
    with pytest.raises(ValueError, match=r"has no status; allowed: ok, diverged, failed, timeout"):
        replace(result_of(CELL), outcome=Outcome())


def test_result_records_are_immutable(result_of):
    with pytest.raises(FrozenInstanceError):
        result_of(CELL).exclusive = True


def test_every_schema_column_has_a_record_field(result_of):
    """A value can be given to every column, and arrives there in its type."""
    kinds = (CellResult, Outcome, DataFacts, TuningFacts, FitFacts, Provenance)
    names = {each.name for kind in kinds for each in fields(kind)}
    row = result_of(CELL).row
    assert list(row) == CELLS.names
    assert {name for name, value in row.items() if value is None} <= names | set(METRICS)
    assert result_of(CELL, nmll=1.25).to_table().schema.equals(CELLS)


def test_texts_of_exceptions_are_stored_printable(result_of):
    undecodable = b"caf\xe9".decode(errors="surrogateescape")
    result = result_of(
        CELL,
        "failed",
        error=f"no file {undecodable}",
        error_class=undecodable,
        log=f"\x1b[2J{undecodable}",
        host="\ud800",
    )
    row = result.row
    assert row["error"] == "no file caf\\udce9"
    assert (row["error_class"], row["log"], row["host"]) == ("caf\\udce9", "\\u001b[2Jcaf\\udce9", "\\ud800")
    assert result.to_table()["error"].to_pylist() == ["no file caf\\udce9"]


def test_long_error_messages_are_capped(result_of):
    row = result_of(CELL, "failed", error="ValueError: " + "x" * 1_000_000, log="y" * 1_000_000).row
    assert len(row["error"]) <= 20_000
    assert len(row["log"]) <= 100_000
