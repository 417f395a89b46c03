"""Recalibrated scores of finished cells: the factor comes from held-out training rows, and test rows from the run."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from cell_runs import TINY, outcome_of

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import recalibration
from lockstep_bench.bench.evaluation.recalibration import SUFFIX, recalibrations, stored
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.datasets import folds


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs and stores a cell, and returns the cell."""

    def run(method, dataset="diabetes", split=0):
        cell = Cell("uci", dataset, method, split, "tiny", TINY, seed=0)
        Results(tmp_path).write(outcome_of(Job((cell,), (tmp_path / "study.json",), None)))
        return cell

    return run


def row(tmp_path):
    (row,) = stored(tmp_path).to_pylist()
    return row


def test_factor_of_the_constant_is_in_closed_form(run, tmp_path):
    cell = run("constant")
    assert [each.reason for each in recalibrations(tmp_path)] == [""]
    dataset = datasets.load("diabetes")
    train = dataset.splits[0].train
    y, z = dataset.y[train], []
    for part in folds(len(train), TINY.folds, cell.seeded.fold_seed):
        rest = np.delete(y, part)
        z += [*(y[part] - rest.mean()) / rest.std()]
    assert row(tmp_path)["factor"] == pytest.approx(np.sqrt(np.mean(np.square(z))), rel=1e-5)
    assert row(tmp_path)["n_held_out"] == len(train)


def test_every_score_has_a_second_column(run, tmp_path):
    run("mc-dropout")
    list(recalibrations(tmp_path))
    values = row(tmp_path)
    scores = [name for name in recalibration.SCORES if name in values]
    assert {"nmll", "rmse", "crps", "coverage_90", "pit_p_value"} < {*scores}
    assert {f"{name}{SUFFIX}" for name in scores} == {name for name in values if name.endswith(SUFFIX)}
    assert values["rmse_recalibrated"] == pytest.approx(values["rmse"], rel=1e-5)
    assert values["nmll_recalibrated"] != pytest.approx(values["nmll"], abs=1e-3)
    (cell,) = pq.read_table(next((tmp_path / "cells").rglob("*.parquet"))).to_pylist()
    assert {name: values[name] for name in scores} == {name: cell[name] for name in scores}


def test_classification_is_tempered_and_keeps_its_accuracy(run, tmp_path):
    run("mfvi", "wine-recognition")
    list(recalibrations(tmp_path))
    values = row(tmp_path)
    assert values["accuracy_recalibrated"] == values["accuracy"]
    assert values["ece_recalibrated"] != values["ece"]
    assert "mutual_information_recalibrated" not in values


def test_recalibrated_cells_are_passed_over_the_next_time(run, tmp_path):
    run("map")
    assert len(list(recalibrations(tmp_path))) == 1
    assert list(recalibrations(tmp_path)) == []


def test_splits_of_a_method_are_recalibrated_as_if_alone(run, tmp_path):
    run("map")
    list(recalibrations(tmp_path))
    alone = row(tmp_path)
    run("map", split=1)
    next((tmp_path / "recalibrated").rglob("*.parquet")).unlink()
    list(recalibrations(tmp_path))
    first, _ = sorted(stored(tmp_path).to_pylist(), key=lambda each: each["split"])
    assert first == pytest.approx(alone, rel=1e-5)


def test_cells_without_predictions_or_of_other_code_are_left_out(run, tmp_path, monkeypatch):
    run("constant")
    monkeypatch.setattr(recalibration, "identity_of", lambda *_: "another")
    assert [each.reason for each in recalibrations(tmp_path)] == ["other code made this row; run the cell again"]
    next((tmp_path / "predictions").rglob("*.parquet")).unlink()
    assert [each.reason for each in recalibrations(tmp_path)] == ["no predictions are kept"]
