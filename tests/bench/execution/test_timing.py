"""The timing pass repeats one cell per method and data set, and drops times of other numbers."""

import math
import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lockstep_bench.bench.execution.timing import Timings, differences, due
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.schema import TIMINGS

CELL = Cell("uci", "yacht", "map", 0, "p", Protocol(), 0)


@pytest.fixture
def result(result_of):
    """Return a function that makes the result of a cell."""

    def make(cell: Cell = CELL, **changes) -> CellResult:
        numbers = {"exclusive": False, "nmll": 1.5, "hparams": '{"lr": 0.1}', "rmse": 2.5, "fit_seconds": 9.0}
        columns = {name: value for name, value in (numbers | changes).items() if value is not None}
        return result_of(cell, **columns)

    return make


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


@pytest.fixture
def stored(results, result):
    """Return a function that writes results to the folder and returns their cells."""

    def make(*changed: tuple[Cell, dict]) -> list[Cell]:
        for cell, changes in changed:
            results.write(result(cell, **changes))
        return [cell for cell, _ in changed]

    return make


def test_first_finished_split_per_method_is_timed(results, result, stored):
    longer = replace(CELL, protocol=Protocol(epochs=7))
    others = [replace(CELL, method="vifa"), replace(CELL, dataset="boston"), longer]
    cells = stored(
        (replace(CELL, split=2), {}),
        (replace(CELL, split=1), {}),
        (CELL, {"status": "failed"}),
        *((cell, {}) for cell in others),
    )
    assert set(due(results, [*cells, replace(CELL, method="swag")])) == {replace(CELL, split=1), *others}


def test_cells_with_uncontended_times_are_not_timed_again(results, result, stored):
    cells = stored((CELL, {}), (replace(CELL, split=1), {"exclusive": True}))
    assert due(results, cells) == []


def test_rows_of_unknown_contention_are_timed_again(results, result, stored):
    assert due(results, stored((CELL, {"exclusive": None}))) == [CELL]


def test_timed_cell_is_stored_and_not_timed_again(results, result, stored):
    cells = stored((CELL, {}), (replace(CELL, split=1), {}))
    timings = Timings(results, [CELL])
    timings.write(result(fit_seconds=0.25, exclusive=True))
    (kept,) = pq.read_table(results.timing(CELL), schema=TIMINGS).to_pylist()
    assert {name: kept[name] for name in ("dataset", "method", "split", "fit_seconds")} == {
        "dataset": "yacht",
        "method": "map",
        "split": 0,
        "fit_seconds": 0.25,
    }
    assert "nmll" not in kept
    assert due(results, cells) == []
    assert (timings.differing, timings.failed) == ({}, {})
    assert Results(results.out).row(CELL)["fit_seconds"] == 9.0  # the stored row stays as it was


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, Path.touch], ids=["folder", "pipe", "empty"])
def test_invalid_timing_files_are_timed_again(results, result, stored, make):
    cells = stored((CELL, {}))
    results.timing(CELL).parent.mkdir(parents=True)
    make(results.timing(CELL))
    assert due(results, cells) == [CELL]


def test_symbolic_link_in_place_of_timing_is_redone(results, result, stored, tmp_path):
    cells = stored((CELL, {}))
    Timings(results, [CELL]).write(result(fit_seconds=0.25, exclusive=True))
    assert due(results, cells) == []
    results.timing(CELL).rename(tmp_path / "elsewhere")
    results.timing(CELL).symlink_to(tmp_path / "elsewhere")
    assert due(results, cells) == [CELL]


def test_warm_up_cells_store_no_times(results, result, stored):
    stored((CELL, {}))
    warm_up = replace(CELL, seed=1)
    timings = Timings(results, [CELL])
    timings.write(result(warm_up, nmll=9.0))
    assert timings.differing == {}
    assert not results.timing(CELL).exists()


def test_times_are_not_stored_if_results_differ(results, result, stored):
    stored((CELL, {}))
    timings = Timings(results, [CELL])
    timings.write(result(nmll=1.6))
    assert timings.differing == {CELL: ["nmll 1.5, now 1.6"]}
    assert not results.timing(CELL).exists()


def test_failed_timing_repetitions_are_reported(results, result, stored):
    stored((CELL, {}))
    timings = Timings(results, [CELL])
    timings.write(result(status="timeout"))
    assert timings.failed == {CELL: "timeout"}
    assert not results.timing(CELL).exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"fit_seconds": 1.0, "exclusive": True}, []),
        ({"nmll": 1.5001}, []),
        ({"nmll": 1.5002}, ["nmll 1.5, now 1.5002"]),
        ({"rmse": None}, ["rmse 2.5, now None"]),
        ({"crps": 1.0}, ["crps None, now 1.0"]),
        ({"pit_p_value": 1.0}, []),
        ({"hparams": "{}"}, ['hparams {"lr": 0.1}, now {}']),
        ({"code_revision": "def"}, []),
        ({"code_revision": "def", "nmll": math.inf}, ["another code revision", "nmll 1.5, now inf"]),
    ],
)
def test_repeated_results_are_compared_up_to_rounding(result, changes, expected):
    assert differences(result().row, result(**changes).row) == expected


@pytest.mark.parametrize(
    ("stored", "repeated", "named"),
    [("native", "native", False), ("native", "captured", True), (None, "native", False)],
)
def test_difference_in_training_mode_is_named(result, stored, repeated, named):
    row, other = result(execution=stored).row, result(execution=repeated, nmll=9.0).row
    assert ("another execution" in differences(row, other)) == named


@pytest.mark.parametrize(
    ("stored", "repeated", "expected"),
    [
        ("a-b", "a-b", []),
        ("a-b", "a-c", ["another code identity"]),
        (None, "a-c", ["another code revision"]),
        ("a-b", None, ["another code revision"]),
    ],
)
def test_code_identity_outweighs_the_commit(result, stored, repeated, expected):
    row = result(code_identity=stored, code_revision="abc").row
    other = result(code_identity=repeated, code_revision="def", nmll=9.0).row
    assert differences(row, other) == [*expected, "nmll 1.5, now 9.0"]


@pytest.mark.parametrize(("before", "now", "alike"), [(0.0, 1e-6, True), (1e-7, -1e-7, True), (0.0, 1e-4, False)])
def test_tolerance_for_numbers_near_zero_is_absolute(result, before, now, alike):
    assert (differences(result(nmll=before).row, result(nmll=now).row) == []) == alike


@pytest.mark.parametrize("value", [math.inf, math.nan, -math.inf])
def test_equal_nonfinite_results_count_as_equal(result, value):
    assert differences(result(nmll=value).row, result(nmll=value).row) == []
    assert differences(result(nmll=value).row, result(nmll=1.0).row) != []
