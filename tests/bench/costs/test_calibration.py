"""The files that keep costs."""

import json
import math
import os
from dataclasses import replace

import pytest

from lockstep_bench import methods
from lockstep_bench.bench.costs import calibration
from lockstep_bench.bench.costs.batching import Need
from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.given_hparams import GivenHParams, parse
from lockstep_bench.shared.protocol import SETTINGS, Protocol

CELL = Cell("uci", "yacht", "map", 0, "p", Protocol(epochs=2, trials=4), 0)  # fills a stack of 20
COST = Cost(CELL.work, seconds=4.0, base_bytes=100, row_bytes=10)


def test_measured_cost_gives_the_memory_need():
    assert COST.need == Need(100, 10)


# What is kept.


@pytest.fixture
def kept(tmp_path):
    """Calibrations that have a measurement of `CELL`."""
    calibrations = Calibrations(Worker("cpu 0"), tmp_path)
    calibrations.keep(CELL, COST)
    return calibrations


def test_all_splits_share_one_measured_cost(kept):
    assert kept.kept(replace(CELL, split=3)) == COST


@pytest.mark.parametrize("content", ["", "5", "[]", '{"work": 1}', "[" * 100_000], ids=lambda content: content[:11])
def test_invalid_cost_files_are_measured_again(kept, tmp_path, content):
    (file,) = tmp_path.glob("*.json")
    file.write_text(content)
    assert kept.kept(CELL) is None


@pytest.mark.parametrize("value", ["x", math.nan, math.inf, -5, None])
def test_implausible_stored_costs_are_measured_again(kept, tmp_path, value):
    (file,) = tmp_path.glob("*.json")
    file.write_text(json.dumps(COST._asdict() | {"seconds": value}))
    assert kept.kept(CELL) is None


def test_named_pipe_instead_of_cost_file_is_measured_again(kept, tmp_path):
    (file,) = tmp_path.glob("*.json")
    file.unlink()
    os.mkfifo(file)
    assert kept.kept(CELL) is None


TEXTS = {"hparams": GivenHParams.of([parse("lr=0.1")]), "milestones": "5,10", "hidden": "50,50"}
CHANGES = {
    name: TEXTS[name]
    if name in TEXTS
    else next(one for one in setting.choices if one != setting.default)
    if setting.choices
    else (setting.default or 0) + 7
    for name, setting in SETTINGS.items()
}


@pytest.mark.parametrize("name", SETTINGS)
def test_cost_key_changes_with_every_relevant_field(kept, name):
    found = kept.kept(replace(CELL, protocol=CELL.protocol.changed(**{name: CHANGES[name]})))
    assert found == (COST if SETTINGS[name].rescales else None)


def test_bfloat16_does_not_reuse_float32_costs(kept):
    assert kept.kept(replace(CELL, protocol=CELL.protocol.changed(precision="bfloat16"))) is None


@pytest.mark.parametrize("other", [{"method": "vifa"}, {"dataset": "boston"}])
def test_costs_differ_by_method_and_data_set(kept, other):
    assert kept.kept(replace(CELL, **other)) is None


@pytest.mark.parametrize("worker", [Worker("cpu 0", threads=2), Worker("g", "cuda", "0"), Worker("g", "cuda", "1")])
def test_costs_differ_by_device(kept, tmp_path, worker):
    assert Calibrations(worker, tmp_path).kept(CELL) is None


def test_workers_of_a_device_share_measured_costs(kept, tmp_path):
    assert Calibrations(Worker("cpu 3", neighbours=3), tmp_path).kept(CELL) == COST


def test_costs_of_changed_code_are_not_reused(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "code_revision", lambda: ("another", False))
    assert Calibrations(Worker("cpu 0"), tmp_path).kept(CELL) is None


@pytest.mark.parametrize("content", ["", "{", '{"work": 1}', '{"colour": 1}', "7"])
def test_unreadable_cost_file_counts_as_missing(kept, content):
    kept._path(CELL).write_text(content)
    assert kept.kept(CELL) is None


def test_unwritable_cost_folder_raises_no_error(tmp_path):
    (tmp_path / "file").touch()
    calibrations = Calibrations(Worker("cpu 0"), tmp_path / "file")
    calibrations.keep(CELL, COST)
    assert calibrations.kept(CELL) is None


def test_environment_variable_chooses_the_cost_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(calibration.VARIABLE, str(tmp_path / "here"))
    assert calibration.default_folder() == tmp_path / "here"


# Measuring, in child processes.


def test_failed_cost_probes_are_left_out(faulty, tmp_path):
    short = Protocol(epochs=1, trials=1, folds=2)
    good, bad = (Cell("uci", "diabetes", method, 0, "p", short, 0) for method in ("map", "raise"))
    assert methods.problem_with("raise") is None
    calibrations, done = Calibrations(Worker("cpu 0"), tmp_path / "kept"), []
    calibrations.measure([bad, good], [Worker("cpu 0")], None, lambda: done.append(1))
    assert calibrations.kept(good).seconds_of(good.work, 1) > 0
    assert calibrations.kept(bad) is None
    assert len(done) == 2


def test_no_cost_probe_begins_after_the_deadline(tmp_path):
    calibrations = Calibrations(Worker("cpu 0"), tmp_path)
    calibrations.measure([CELL], [Worker("cpu 0")], None, seconds=0)
    assert list(tmp_path.iterdir()) == []
