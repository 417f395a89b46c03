"""Estimates name what they rest on: earlier rows, else a probe, else a constant."""

import json
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest

from lockstep_bench.bench.costs.batching import ASSUMED, MIB
from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.costs.estimates import (
    EARLIER,
    GUESSED,
    PROBED,
    RELATED,
    SCALED,
    SECONDS_PER_WORK,
    UNSURE,
    Estimates,
    seconds_of,
)
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.schema import SCHEMA_VERSION

SHORT = Protocol(epochs=2, trials=4)
CELL = Cell("uci", "yacht", "map", 0, "p", SHORT, 0)  # 6 features; boston 13, a1a 123
COST = Cost(CELL.work, 2.0, 100, 10)


def row(cell: Cell = CELL, **changes) -> dict:
    found = dict.fromkeys(CELLS.names) | {"suite": cell.suite, "dataset": cell.dataset, "method": cell.method}
    found |= {"split": cell.split, "preset": cell.preset, "seed": 0, "protocol": cell.protocol.to_json()}
    found |= {
        "protocol_hash": cell.protocol.hash,
        "status": "ok",
        "device": "cpu",
        "host": "here",
        "schema_version": SCHEMA_VERSION,
    }
    return found | changes


def frame(*rows: dict) -> pd.DataFrame:
    floats = {field.name: "float64" for field in CELLS if pa.types.is_floating(field.type)}
    return pd.DataFrame(rows, columns=CELLS.names).astype(floats).copy()


@pytest.fixture
def calibrations(tmp_path):
    return Calibrations(Worker("cpu 0"), tmp_path)


@pytest.fixture
def known(calibrations):
    """Estimates for some cells, from rows."""
    return lambda wanted, *rows: Estimates(wanted, frame(*rows), calibrations, "here", "cpu")


# What earlier rows say.


def test_cells_of_a_job_share_its_time_equally():
    together = [row(elapsed_seconds=9.0, fit_seconds=1.0), row(elapsed_seconds=9.0, fit_seconds=1.0)]
    alone = [row(elapsed_seconds=4.0), row(replace(CELL, method="vifa"), elapsed_seconds=9.0)]
    assert seconds_of(frame(*together, *alone)).tolist() == [4.5, 4.5, 4.0, 9.0]


def test_rows_without_elapsed_time_use_summed_timings():
    told = row(tune_seconds=3.0, fit_seconds=1.0, predict_seconds_per_1000=2.0, n_test=500)
    assert seconds_of(frame(told, row(fit_seconds=1.0))).tolist() == [5.0, 1.0]


# What estimates rest on, the best first.


def test_estimate_averages_equal_cells_on_this_machine(known, calibrations):
    calibrations.keep(CELL, COST)
    rows = [row(elapsed_seconds=4.0, peak_memory_mib=7.0), row(elapsed_seconds=6.0, peak_memory_mib=8.0)]
    others = {"host": "there"}, {"device": "NVIDIA"}
    elsewhere = [row(elapsed_seconds=99.0, **other) for other in others]
    estimate = known([CELL], *rows, *elsewhere).of([CELL, replace(CELL, split=1)], 150)
    assert estimate.basis == PROBED  # of a job of one cell there are rows, of two cells none
    estimate = known([CELL], *rows, *elsewhere).of([CELL], 150)
    assert estimate == (pytest.approx(5.0), 8 * MIB, EARLIER)


def test_earlier_jobs_give_the_time_of_jobs_with_equally_many_cells(known):
    together = [row(replace(CELL, split=split), elapsed_seconds=9.0) for split in range(3)]
    estimates = known([CELL], *together, row(replace(CELL, split=3), elapsed_seconds=5.0))
    cells = [replace(CELL, split=split) for split in range(3)]
    assert estimates.of(cells, 150) == (pytest.approx(9.0), None, EARLIER)
    assert estimates.of(cells[:1], 150) == (pytest.approx(5.0), None, EARLIER)
    assert estimates.of(cells[:2], 150) == (pytest.approx(2 * 3.5), None, SCALED)


def test_sizes_of_jobs_without_earlier_rows_are_probed(known):
    alone, together = row(elapsed_seconds=5.0), [replace(CELL, split=split) for split in range(3)]
    assert known([CELL], alone).worth_probing() == []
    (probed,) = known(together, alone).worth_probing()
    assert probed in together
    three = [row(cell, elapsed_seconds=9.0) for cell in together]
    assert known(together, *three).worth_probing() == []


def test_estimate_from_another_protocol_is_unsure(known):
    other = replace(CELL, protocol=replace(SHORT, epochs=4))
    estimates = known([CELL], row(other, elapsed_seconds=8.0))
    assert estimates.of([CELL], 150).basis in UNSURE
    assert estimates.worth_probing() == [CELL]


def test_estimate_scales_rows_of_the_same_data_set_by_work(known, calibrations):
    other = replace(CELL, protocol=replace(SHORT, epochs=4))
    estimate = known([CELL], row(other, elapsed_seconds=8.0)).of([CELL], 150)
    assert estimate == (pytest.approx(8.0 * CELL.work / other.work), None, SCALED)
    calibrations.keep(CELL, COST)
    estimate = known([CELL], row(other, elapsed_seconds=8.0)).of([CELL], 150)
    assert estimate == (2.0, 100 + 20 * 10, PROBED)


def test_estimate_prefers_a_probe_to_rows_of_other_data_sets(known, calibrations):
    other = replace(CELL, dataset="boston")
    estimates = known([CELL], row(other, elapsed_seconds=8.0))
    assert estimates.of([CELL], 150) == (pytest.approx(8.0 * CELL.work / other.work), None, RELATED)
    calibrations.keep(CELL, COST)
    assert known([CELL], row(other, elapsed_seconds=8.0)).of([CELL], 150).basis == PROBED


def test_estimate_prefers_rows_of_the_same_data_set(known):
    longer = replace(CELL, protocol=replace(SHORT, epochs=4))  # twice the work
    rows = [row(longer, elapsed_seconds=8.0), row(replace(CELL, dataset="boston"), elapsed_seconds=99.0)]
    assert known([CELL], *rows).of([CELL], 150) == (pytest.approx(4.0), None, SCALED)


@pytest.mark.parametrize(
    "other", [{"protocol": json.dumps({"colour": "blue"}), "protocol_hash": "x"}, {"dataset": "gone"}]
)
def test_estimate_ignores_rows_that_cannot_be_scaled(known, other):
    assert known([CELL], row(elapsed_seconds=8.0, **other)).of([CELL], 150).basis == GUESSED


def test_estimate_prefers_a_measurement_of_the_cell_itself(known, calibrations):
    calibrations.keep(CELL, COST)
    stranger = row(replace(CELL, method="vifa"), elapsed_seconds=99.0)
    assert known([CELL], stranger).of([CELL], 150) == (2.0, 100 + 20 * 10, PROBED)


def test_measured_cell_gives_the_time_and_memory_of_other_data_sets(known, calibrations):
    small, large = (replace(CELL, dataset=name) for name in ("yacht", "a1a"))
    calibrations.keep(large, COST)
    estimates = known([large, small])
    estimate = estimates.of([small], 150)
    assert (estimate.seconds, estimate.basis) == (pytest.approx(2.0 * small.work / CELL.work), RELATED)
    assert estimates.need(small) == COST.need
    assert known([replace(small, method="vifa")]).need(replace(small, method="vifa")) == ASSUMED


def test_estimate_without_measurements_is_a_constant_times_work(known):
    assert known([CELL]).of([CELL], 150) == (pytest.approx(SECONDS_PER_WORK * CELL.work), None, GUESSED)


# What is worth measuring.


def test_data_sets_without_rows_are_probed_widest_first(known, calibrations):
    cells = [
        replace(CELL, dataset=name, method=method) for name in ("boston", "a1a", "yacht") for method in ("map", "vifa")
    ]
    estimates = known(cells, row(elapsed_seconds=4.0))
    wanted = [(cell.method, cell.dataset) for cell in estimates.worth_probing()]
    assert set(wanted[:2]) == {("map", "a1a"), ("vifa", "a1a")}
    assert set(wanted[2:]) == {("map", "boston"), ("vifa", "boston"), ("vifa", "yacht")}
    for_memory = estimates.worth_probing(memory=True)
    assert {(cell.method, cell.dataset) for cell in for_memory} == {("map", "a1a"), ("vifa", "a1a")}
    for cell in for_memory:
        calibrations.keep(cell, COST)
    assert estimates.worth_probing(memory=True) == []
    assert len(estimates.worth_probing()) == 3


def test_probe_file_is_read_once_for_all_splits(calibrations, monkeypatch):
    """A plan of 400,000 cells has 80,000 jobs, and a few thousand probes at most."""
    read, kept = [], calibrations.kept
    monkeypatch.setattr(calibrations, "kept", lambda cell: read.append(cell) or kept(cell))
    splits = [replace(CELL, split=split) for split in range(20)]
    estimates = Estimates(splits, frame(), calibrations, "here", "cpu")
    for cell in splits:
        estimates.of([cell], 1)
        estimates.need(cell)
    assert len(read) == 1
