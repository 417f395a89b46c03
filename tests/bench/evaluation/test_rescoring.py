"""Metrics from kept predictions are those that the cell was given when it ran."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cell_runs import TINY, outcome_of

from lockstep_bench.bench.evaluation.rescoring import rescored
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.shared.rows.rows_cache import KEY

LACKING = ("crps", "nmll_dyadic", "energy_score")


@pytest.fixture
def folder(tmp_path):
    """Returns a function that stores a cell of a method without some metrics, and returns its whole row."""

    def stored(method: str) -> dict:
        cell = Cell("uci", "diabetes", method, 0, "tiny", TINY, seed=0)
        result = outcome_of(Job((cell,), (tmp_path / "study.json",), None))
        outcome = result.outcome
        lacking = {name: value for name, value in outcome.metrics.items() if name not in LACKING}
        Results(tmp_path).write(replace(result, outcome=replace(outcome, metrics=lacking)))
        return result.row

    return stored


def rows(tmp_path):
    return pq.read_table(next((tmp_path / "cells").rglob("*.parquet"))).to_pylist()


def test_a_rescored_row_has_the_metrics_of_the_run(folder, tmp_path):
    whole = folder("vifa")
    (outcome,) = rescored(tmp_path, LACKING)
    assert outcome.added == LACKING
    (row,) = rows(tmp_path)
    assert {name: row[name] for name in LACKING} == pytest.approx({name: whole[name] for name in LACKING}, rel=1e-4)
    assert not list(rescored(tmp_path, LACKING))


def test_other_columns_keep_their_values(folder, tmp_path):
    folder("vifa")
    before = rows(tmp_path)[0]
    list(rescored(tmp_path, ["crps", "nmll"]))
    assert rows(tmp_path)[0] | {"crps": None} == before


def test_a_row_without_predictions_is_left_as_it_is(folder, tmp_path):
    folder("vifa")
    next((tmp_path / "predictions").rglob("*.parquet")).unlink()
    (outcome,) = rescored(tmp_path, LACKING)
    assert not outcome.added
    assert outcome.reason == "no predictions are kept"


def test_marginal_predictions_get_no_joint_scores(folder, tmp_path):
    folder("linear")
    (outcome,) = rescored(tmp_path, LACKING)
    assert outcome.added == ("crps",)


def test_a_method_that_is_not_installed_is_said_so(folder, tmp_path):
    row = folder("vifa")
    key = {name: row[name] for name in KEY} | {"method": "of-another-package"}
    lacking = dict.fromkeys(LACKING)
    for part in ("cells", "predictions"):
        (found,) = (tmp_path / part).rglob("*.parquet")
        renamed = Path(str(found).replace("vifa", "of-another-package"))
        renamed.parent.mkdir(parents=True, exist_ok=True)
        found.rename(renamed)
    Results(tmp_path).add_metrics(row | key | lacking, {})
    (outcome,) = rescored(tmp_path, LACKING)
    assert not outcome.added
    assert "'of-another-package' is unknown" in outcome.reason
