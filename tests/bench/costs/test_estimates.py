"""Estimates rest on the best that there is, and say what that is."""

import json
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest

from bench.costs.calibration import Calibrations
from bench.costs.cost import Cost
from bench.costs.estimates import EARLIER, GUESSED, PROBED, RELATED, SCALED, Estimates, seconds_of
from bench.costs.packing import ASSUMED, MIB, Need
from bench.execution.workers import Slot
from bench.experiment.cells import Cell
from bench.experiment.protocol import Protocol
from bench.schema import CELLS

SHORT = Protocol(epochs=2, trials=4)
CELL = Cell("uci", "yacht", "map", 0, "p", SHORT, 0)  # 6 features; boston 13, a1a 123
COST = Cost(1.0, 0.0, 0.0, 0.0, 0.0, 100, 10, 0.9, 0.1, trials=4, fits_per_trial=5)  # two seconds for a cell


def row(cell: Cell = CELL, **changes) -> dict:
    found = dict.fromkeys(CELLS.names) | {"suite": cell.suite, "dataset": cell.dataset, "method": cell.method}
    found |= {"split": cell.split, "preset": cell.preset, "seed": 0, "protocol": cell.protocol.to_json()}
    found |= {"protocol_hash": cell.protocol.hash, "status": "ok", "device": "cpu", "host": "here"}
    return found | changes


def frame(*rows: dict) -> pd.DataFrame:
    floats = {field.name: "float64" for field in CELLS if pa.types.is_floating(field.type)}
    return pd.DataFrame(rows, columns=CELLS.names).astype(floats).copy()


@pytest.fixture
def calibrations(tmp_path):
    return Calibrations(Slot("cpu 0"), tmp_path)


@pytest.fixture
def known(calibrations):
    """Estimates for some cells, from rows."""
    return lambda wanted, *rows: Estimates(wanted, frame(*rows), calibrations, "here", "cpu")


# What earlier rows say.


def test_cells_of_one_job_share_its_time():
    together = [row(elapsed_seconds=9.0, fit_seconds=1.0), row(elapsed_seconds=9.0, fit_seconds=1.0)]
    alone = [row(elapsed_seconds=4.0), row(replace(CELL, method="vifa"), elapsed_seconds=9.0)]
    assert seconds_of(frame(*together, *alone)).tolist() == [4.5, 4.5, 4.0, 9.0]


def test_older_rows_are_as_long_as_what_was_timed():
    told = row(tune_seconds=3.0, fit_seconds=1.0, predict_seconds_per_1000=2.0, n_test=500)
    assert seconds_of(frame(told, row(fit_seconds=1.0))).tolist() == [5.0, 1.0]


# What estimates rest on, the best first.


def test_the_same_cells_on_this_host_and_device(known, calibrations):
    calibrations._keep(CELL, COST)
    rows = [row(elapsed_seconds=4.0, peak_memory_mib=7.0), row(elapsed_seconds=6.0, peak_memory_mib=8.0)]
    strange = [row(elapsed_seconds=99.0, host="there"), row(elapsed_seconds=99.0, device="NVIDIA")]
    (found,) = known([CELL], *rows, *strange).of([([CELL, replace(CELL, split=1)], 150)])
    assert found == (10.0, 8 * MIB, EARLIER)


def test_a_probe_of_the_same(known, calibrations):
    calibrations._keep(CELL, COST)
    other = replace(CELL, protocol=replace(SHORT, epochs=4))
    (found,) = known([CELL], row(other, elapsed_seconds=99.0)).of([([CELL], 150)])
    assert found == (2.0, 100 + 20 * 10, PROBED)


def test_another_protocol_by_its_work(known):
    longer = replace(CELL, protocol=replace(SHORT, epochs=4))  # twice the work
    (found,) = known([CELL], row(longer, elapsed_seconds=8.0)).of([([CELL], 150)])
    assert found == (pytest.approx(4.0), None, SCALED)


def test_a_protocol_of_another_time_is_passed_over(known):
    strange = row(elapsed_seconds=8.0, protocol=json.dumps({"colour": "blue"}), protocol_hash="x")
    assert known([CELL], strange).of([([CELL], 150)])[0].basis == GUESSED


def test_probes_on_either_side(known, calibrations):
    small, middle, large = (replace(CELL, dataset=name) for name in ("yacht", "boston", "a1a"))
    calibrations._keep(small, COST)
    calibrations._keep(large, replace(COST, setup=118.0, row_bytes=127))
    estimates = known([small, middle, large])
    (found,) = estimates.of([([middle], 150)])
    assert found.basis == RELATED
    assert found.seconds == pytest.approx(2 * (1 + 7))  # 13 is 7 of the 117 features between 6 and 123
    assert estimates.need(middle) == Need(100, 10 + 7)
    assert estimates.of([([replace(middle, method="vifa")], 150)])[0].basis == GUESSED


def test_the_rest_is_as_fast_as_the_others(known):
    stranger = replace(CELL, method="vifa", dataset="boston")
    estimates = known([CELL, stranger], row(elapsed_seconds=3.0))
    found = estimates.of([([CELL], 150), ([stranger], 150)])
    assert found[1] == (pytest.approx(3.0 * stranger.work / CELL.work), None, GUESSED)


def test_nothing_is_known_of_nothing(known):
    estimates = known([CELL])
    assert estimates.of([([CELL], 150)]) == [(None, None, GUESSED)]
    assert estimates.need(CELL) == ASSUMED


# What is worth measuring.


def test_each_method_is_probed_at_both_ends_of_what_is_not_known(known, calibrations):
    cells = [
        replace(CELL, dataset=name, method=method) for name in ("a1a", "boston", "yacht") for method in ("map", "vifa")
    ]
    estimates = known(cells, row(elapsed_seconds=4.0))
    found = {(cell.method, cell.dataset) for cell in estimates.worth_probing()}
    assert found == {("map", "boston"), ("map", "a1a"), ("vifa", "yacht"), ("vifa", "a1a")}
    for_memory = {(cell.method, cell.dataset) for cell in estimates.worth_probing(memory=True)}
    assert for_memory == found - {("map", "boston")} | {("map", "yacht")}
    for cell in estimates.worth_probing():
        calibrations._keep(cell, COST)
    estimates.forget()
    assert estimates.worth_probing() == []
    assert {one.basis for one in estimates.of([([cell], 150) for cell in cells])} == {EARLIER, PROBED, RELATED}
