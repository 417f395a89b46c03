"""The command that recalibrates results says what it did, and writes every score twice."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.commands import recalibrate
from lockstep_bench.shared.protocol import Protocol


def test_table_and_csv_have_scores_before_and_after(tmp_path):
    cell = Cell("uci", "diabetes", "constant", 0, "tiny", Protocol(folds=3), seed=0)
    Results(tmp_path).write(*run(Job((cell,), (tmp_path / "study.json",), None)))
    ran = CliRunner().invoke(recalibrate.app, [str(tmp_path), "--csv", str(tmp_path / "scores.csv")])
    assert ran.exit_code == 0
    assert "1 of 1 cells were recalibrated" in ran.output
    assert "constant" in ran.output
    (row,) = pd.read_csv(tmp_path / "scores.csv").to_dict("records")
    assert {"recalibration_factor", "nmll", "nmll_recalibrated", "crps_recalibrated"} < row.keys()


def test_a_folder_without_cells_is_refused(tmp_path):
    ran = CliRunner().invoke(recalibrate.app, [str(tmp_path)])
    assert ran.exit_code == 2
    assert "has no folder" in " ".join(ran.output.replace("│", " ").split())


@pytest.mark.parametrize("device", ["nonsense", "cuda:99"])
def test_a_device_that_is_not_here_is_refused(tmp_path, device):
    (tmp_path / "cells").mkdir()
    ran = CliRunner().invoke(recalibrate.app, [str(tmp_path), "--device", device])
    assert ran.exit_code == 2
    assert device in ran.output
