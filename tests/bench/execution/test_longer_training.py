"""The longer pass trains one cell of each method and data set for longer, beside the leaderboard's rows."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from lockstep_bench.bench.execution.longer_training import LongerTrainings, due, planned, stretched
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.leaderboards.data.longer import longer_trainings
from lockstep_bench.shared.given_hparams import GivenHParams
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows.reader import read_longer

PROTOCOL = Protocol(epochs=4, batch_size=50, trials=3, folds=3, samples=20, validation_samples=10)
CELL = Cell("uci", "diabetes", "map", 0, "p", PROTOCOL, 0)
HPARAMS = {"lr": 0.0123456789, "noise_precision": 0.0002, "prior_precision": 1.0}


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


@pytest.fixture
def stored(results, result_of):
    """Return a function that stores rows of cells and returns the cells."""

    def make(*cells: Cell, **columns) -> list[Cell]:
        for cell in cells:
            results.write(result_of(cell, **{"nmll": 1.5, "hparams": json.dumps(HPARAMS)} | columns))
        return list(cells)

    return make


def test_first_finished_split_per_method_is_trained_longer(results, stored):
    others = stored(replace(CELL, method="vifa"), replace(CELL, dataset="boston"), replace(CELL, split=2))
    failed = stored(replace(CELL, split=0), status="failed", nmll=None)
    cells = [*others, *failed, *stored(replace(CELL, split=1), replace(CELL, method="constant"))]
    cells += stored(replace(CELL, suite="posterior", dataset="yacht-linear"))  # its suite has no NMLL
    trainings = due(results, cells, 2)
    assert {(each.of.dataset, each.of.method, each.of.split) for each in trainings} == {
        ("diabetes", "map", 1),
        ("diabetes", "vifa", 0),
        ("boston", "map", 0),
    }
    assert [each.factor for each in trainings] == [1, 2] * 3
    assert len(planned(results, [*cells, replace(CELL, method="swag")], 2)) == 4


def test_longer_training_scales_schedule_settings():
    steps = {"schedule": "step", "milestones": "10,15", "factor": 10}
    given = GivenHParams.read("lr=0.1..0.2")
    protocol = Protocol(epochs=20, max_minibatches=300, sampler="tpe", hparams=given, **steps)
    longer = stretched(protocol, 3, HPARAMS)
    assert (longer.epochs, longer.max_minibatches, longer.max_updates) == (60, 900, None)
    assert longer.milestones == "30,45"
    assert longer.fixed_for("map") == HPARAMS
    assert longer == protocol.changed(
        epochs=60, max_minibatches=900, milestones="30,45", hparams=longer.hparams, trials=1
    )
    assert stretched(protocol, 1, {}).hparams is None


def test_longer_trainings_are_stored_as_separate_rows(results, tmp_path):
    (row,) = run(Job((CELL,), (tmp_path / "study.json",), None))
    results.write(row)
    trainings = due(results, [CELL], 2)
    store = LongerTrainings(results, trainings)
    for number, training in enumerate(trainings):
        job = Job((training.cell,), (tmp_path / f"{number}.json",), None, validated=True)
        store.write(*run(job))
    assert store.failed == {}
    assert due(results, [CELL], 2) == []
    assert [each.factor for each in due(results, [CELL], 4)] == [4]
    assert planned(results, [CELL], 2) == []
    path = results.longer(CELL, 2)
    whole = path.read_bytes()
    path.write_bytes(b"junk")
    assert [each.factor for each in due(results, [CELL], 2)] == [2]
    path.write_bytes(whole)

    (pair,) = longer_trainings(read_longer(results.out).table.to_pandas())
    assert pair.key == CELL.key
    assert pair.nmll == pytest.approx(row.row["nmll"])  # the same seeds, hyper-parameters and length
    assert (pair.factor, pair.gain) == (2, pair.nmll - pair.nmll_longer)
    assert pair.nmll_longer != pair.nmll
    assert pair.validation_nmll != pair.validation_nmll_longer
    stored = pd.read_parquet(results.out / "cells")
    assert stored["nmll"].tolist() == [row.row["nmll"]]  # the leaderboard's row stays, and stays alone


def test_longer_training_validates_like_the_search(results, tmp_path):
    """The score equals that of a search whose only trial has these hyper-parameters."""
    (row,) = run(Job((replace(CELL, protocol=PROTOCOL.changed(trials=1)),), (tmp_path / "study.json",), None))
    hparams = json.loads(row.row["hparams"])
    cell = replace(CELL, protocol=stretched(PROTOCOL, 1, hparams))
    (validated,) = run(Job((cell,), (tmp_path / "again.json",), None, validated=True))
    assert validated.row["validation_nmll"] == pytest.approx(row.row["validation_nmll"])
    (unvalidated,) = run(Job((cell,), (tmp_path / "not.json",), None))
    assert unvalidated.row["validation_nmll"] is None


def test_failed_longer_trainings_are_not_stored(results, stored, result_of):
    (cell,) = stored(CELL)
    trainings = due(results, [cell], 2)
    store = LongerTrainings(results, trainings)
    for training, status in zip(trainings, ("failed", "diverged"), strict=True):
        store.write(result_of(training.cell, status=status))
    assert store.failed == {cell: "failed"}
    assert [each.factor for each in due(results, [cell], 2)] == [1]
