"""Recalibrated scores of finished cells: the factor comes from held-out training rows, and test rows from the run."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from cell_runs import TINY, outcome_of

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation import recalibration
from lockstep_bench.bench.evaluation.recalibration import recalibrations
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.datasets import folds
from lockstep_bench.shared.rows.recalibrated import FACTOR, SCORES, SUFFIX, UNCHANGED, read_recalibrated


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs and stores a cell, and returns the cell."""

    def run(method, dataset="diabetes", split=0):
        cell = Cell("uci", dataset, method, split, "tiny", TINY, seed=0)
        Results(tmp_path).write(outcome_of(Job((cell,), (tmp_path / "study.json",), None)))
        return cell

    return run


def rows(tmp_path):
    """Return the rows of the folder, without the columns that a row lacks."""
    read = read_recalibrated(tmp_path)
    assert not read.unreadable
    return [{name: value for name, value in row.items() if value is not None} for row in read.table.to_pylist()]


def row(tmp_path):
    (row,) = rows(tmp_path)
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
    assert row(tmp_path)[FACTOR] == pytest.approx(np.sqrt(np.mean(np.square(z))), rel=1e-5)
    assert row(tmp_path)["n_held_out"] == len(train)


def test_every_score_has_a_second_column(run, tmp_path):
    run("mc-dropout")
    list(recalibrations(tmp_path))
    values = row(tmp_path)
    scores = [name for name in SCORES if name in values]
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


@pytest.mark.parametrize(("method", "dataset"), [("deep-ensemble", "diabetes"), ("mfvi", "wdbc")])
def test_scores_that_pages_leave_out_do_not_change(run, tmp_path, method, dataset):
    run(method, dataset)
    list(recalibrations(tmp_path))
    values = row(tmp_path)
    left_out = [name for name in UNCHANGED if name in values]
    before, after = ([values[f"{name}{suffix}"] for name in left_out] for suffix in ("", SUFFIX))
    assert len(left_out) >= 4
    assert after == pytest.approx(before, rel=1e-5)


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
    first, _ = sorted(rows(tmp_path), key=lambda each: each["split"])
    scores = [FACTOR, *(name for name in first if name.endswith(SUFFIX))]
    assert [first[name] for name in scores] == pytest.approx([alone[name] for name in scores], rel=1e-5)


def test_cells_without_predictions_or_of_other_code_are_left_out(run, tmp_path, monkeypatch):
    run("constant")
    monkeypatch.setattr(recalibration, "identity_of", lambda *_: "another")
    assert [each.reason for each in recalibrations(tmp_path)] == ["other code made this row; run the cell again"]
    next((tmp_path / "predictions").rglob("*.parquet")).unlink()
    assert [each.reason for each in recalibrations(tmp_path)] == ["no predictions are kept"]


def test_a_cell_that_was_run_again_is_recalibrated_again(run, tmp_path):
    run("map")
    list(recalibrations(tmp_path))
    (file,) = (tmp_path / "cells").rglob("*.parquet")
    (cell,) = pq.read_table(file).to_pylist()
    Results(tmp_path).add_metrics(cell, {"nmll": cell["nmll"] + 0.1})
    assert [each.reason for each in recalibrations(tmp_path)] == [""]
    assert row(tmp_path)["nmll"] == pytest.approx(cell["nmll"] + 0.1)


def test_a_fresh_run_puts_recalibrations_aside(run, tmp_path):
    run("constant")
    list(recalibrations(tmp_path))
    aside = Results(tmp_path).put_aside()
    assert not rows(tmp_path)
    assert len(rows(aside)) == 1


def test_cells_whose_method_or_data_cannot_be_used_here_are_left_out(run, tmp_path, monkeypatch):
    run("constant")

    def lost(*_):
        raise datasets.Unavailable("diabetes", "its file is gone", "fetch it")

    with monkeypatch.context() as patched:
        patched.setattr(recalibration.Assignment, "of", lost)
        (outcome,) = recalibrations(tmp_path)
    assert "its file is gone" in outcome.reason
    (file,) = (tmp_path / "cells").rglob("*.parquet")
    (cell,) = pq.read_table(file).to_pylist()
    file.unlink()
    Results(tmp_path).add_metrics(cell | {"method": "of-another-package"}, {})
    (found,) = (tmp_path / "predictions").rglob("*.parquet")
    renamed = Path(str(found).replace("constant", "of-another-package"))
    renamed.parent.mkdir(parents=True, exist_ok=True)
    found.rename(renamed)
    (outcome,) = recalibrations(tmp_path)
    assert "'of-another-package' is unknown" in outcome.reason
