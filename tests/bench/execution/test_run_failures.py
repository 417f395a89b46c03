"""Failures in a cell are rows with a reason; failures of the disk are not the cell's fault."""

import errno
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from cell_runs import TINY, outcome_of, side_by_side

from lockstep_bench import methods
from lockstep_bench.bench import metrics
from lockstep_bench.bench.evaluation.tuning.storing import StudyNotStored
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.predictive import Normals
from lockstep_bench.shared.columns import CELLS


def test_failed_cell_stores_its_reason_and_known_facts(job, monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.metrics.evaluate", lambda *_: 1 / np.zeros(0).item())
    row = outcome_of(job()).row
    assert row["status"] == "failed"
    assert "ValueError" in row["error"]
    assert row["error_class"] == "ValueError"
    assert row["hparams"]
    pa.Table.from_pylist([row], schema=CELLS)


@pytest.mark.parametrize(
    ("made", "got"),
    [
        (lambda found: Normals(found.mean.T, found.variance.T), r"a Normals of the shapes \((\d+), 1\), \(\1, 1\)$"),
        (lambda found: Normals(found.mean, found.variance[0]), r"a Normals of the shapes \(1, (\d+)\), \(\1,\)$"),
        (lambda found: found.mean, r"a Tensor of the shapes \(1, \d+\)$"),
        (lambda found: None, "a NoneType of no tensors$"),
        (
            lambda found: Normals(found.mean[:0], found.variance[:0]),
            r"a Normals of the shapes \(0, (\d+)\), \(0, \1\)$",
        ),
        (
            lambda found: Normals(found.mean + 0j, found.variance),
            r"a Normals of the shapes \(1, (\d+)\) complex, \(1, \1\)$",
        ),
    ],
)
def test_error_for_wrong_predictive_shape_names_expected_shape(job, monkeypatch, made, got):
    real = methods.get("map").__class__.predict
    monkeypatch.setattr("lockstep_bench.methods.map.MAP.predict", lambda *arguments: made(real(*arguments)))
    row = outcome_of(job("map")).row
    assert (row["status"], row["error_class"]) == ("failed", "TypeError")
    said = row["error"].strip().splitlines()[-1]
    assert re.search(r"map\.predict must return, for the (\d+) points .* the shape \(S, \1\), or .*\(S, \1, C\)", said)
    assert re.search(got, said)


@pytest.mark.parametrize(
    ("reported", "got"),
    [
        ({"loss": 0.5}, "'loss' is a float"),
        ({str(number): 0.5 for number in range(20_000)}, "'0' is a float"),
        ({"loss": torch.zeros(20_000)}, r"'loss' is a tensor of shape \(20000,\), torch.float32"),
        ({"loss": torch.zeros(()) + 0j}, r"'loss' is a tensor of shape \(\), torch.complex64"),
        ({("loss", 1): torch.zeros(())}, r"\('loss', 1\) is not a string"),
        (None, "it returned a NoneType"),
    ],
)
def test_error_names_invalid_diagnostics(job, monkeypatch, reported, got):
    monkeypatch.setattr(MAP, "diagnostics", lambda self, problem, posterior: reported)
    row = outcome_of(job("map", trials=1)).row
    assert row["error_class"] == "TypeError"
    said = row["error"].strip().splitlines()[-1]
    assert re.search(rf"map\.diagnostics must return .* tensors of shape \(\) and a floating type; {got}$", said)


def test_cell_whose_trials_all_diverge_is_stored(job, monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.metrics.nmll", lambda *_: float("nan"))
    outcome = outcome_of(job("map"))
    assert outcome.row["status"] == "diverged"
    assert "all 3 trials diverged" in outcome.row["error"]
    assert outcome.row["error_class"] == "lockstep_bench.bench.evaluation.tuning.tuner.Diverged"
    assert outcome.tables == {}
    pa.Table.from_pylist([outcome.row], schema=CELLS)


def test_error_ends_with_the_broken_method_rule(job, monkeypatch):
    def update(self, problem, state, batch, noise, step):
        return state if state.weights.sum() > 0 else (state, {})

    monkeypatch.setattr(MAP, "update", update)
    error = outcome_of(job("map")).row["error"]
    assert "data-dependent control flow" in error or "reads the value" in error
    last = error.strip().splitlines()[-1]
    assert re.match(r"test_run_failures\.py, line \d+, `return state if .*`: it reads the value", last), error


def test_missing_data_set_fails_the_cell_with_remedy(tmp_path):
    cell = Cell("uci", "yacht", "map", 0, "tiny", TINY, seed=0)
    row = outcome_of(Job((cell,), (tmp_path / "y.json",), Path(tmp_path / "nothing"))).row
    assert row["status"] == "failed"
    assert "python -m datasets fetch yacht" in row["error"]


def test_failed_job_fails_all_cells_with_known_facts(job, monkeypatch):
    monkeypatch.setattr(metrics, "evaluate", lambda *_: 1 / 0)
    for outcome in run(side_by_side(job("map", 0), job("map", 1))):
        assert (outcome.row["status"], outcome.row["error_class"]) == ("failed", "ZeroDivisionError")
        assert outcome.row["hparams"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_full_disk_ends_the_run_without_failed_rows(job, monkeypatch, number):
    def opened(journal, space, protocol):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("lockstep_bench.bench.evaluation.tuning.tuner._opened", opened)
    with pytest.raises(OSError, match=os.strerror(number)):
        run(job("map"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_full_scratch_disk_fails_only_its_cell(job, monkeypatch, number):
    one = job("map")

    def init(self, problem, noise):
        raise OSError(number, os.strerror(number), str(one.journals[0].parent / "scratch"))

    monkeypatch.setattr(MAP, "init", init)
    row = outcome_of(one).row
    assert row["status"] == "failed"
    assert os.strerror(number) in row["error"]


def test_full_disk_is_reported_with_its_file(job, monkeypatch):
    def write(study, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    one = job("map")
    monkeypatch.setattr("lockstep_bench.bench.evaluation.tuning.tuner.write_study", write)
    with pytest.raises(StudyNotStored) as raised:
        run(one)
    assert pickle.loads(pickle.dumps(raised.value)).filename == str(one.journals[0])


def test_unwritable_study_file_ends_the_run(job, monkeypatch):
    one = job("map")

    def raising(name: str):
        def opened(journal, space, protocol):
            raise PermissionError(errno.EACCES, "Permission denied", name)

        return opened

    monkeypatch.setattr("lockstep_bench.bench.evaluation.tuning.tuner._opened", raising(str(one.journals[0])))
    with pytest.raises(StudyNotStored):
        run(one)
    monkeypatch.setattr("lockstep_bench.bench.evaluation.tuning.tuner._opened", raising("/somewhere/else"))
    assert outcome_of(one).row["error_class"] == "lockstep_bench.bench.evaluation.tuning.storing.StudyNotStored"
