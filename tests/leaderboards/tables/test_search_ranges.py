"""Positions of chosen values in their ranges."""

import json
import math

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution, distribution_to_json
from typer.testing import CliRunner

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.tasks import task_of
from lockstep_bench.bench.results.earlier_rows import space_of_cell
from lockstep_bench.leaderboards.__main__ import app
from lockstep_bench.leaderboards.tables.search_ranges import Optimum, optima, position
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.search_spaces import WIDE
from lockstep_bench.shared.protocol import Protocol


@pytest.mark.parametrize(
    ("value", "distribution", "expected"),
    [
        (0.1, FloatDistribution(0.01, 1.0, log=True), 0.5),
        (0.25, FloatDistribution(0.0, 1.0), 0.25),
        (0.01, FloatDistribution(0.01, 1.0, log=True), 0),
        (3.0, CategoricalDistribution((1.0, 3.0, 10.0)), 0.5),
        ("adam", CategoricalDistribution(("adam", "sgd")), None),
        (1.0, CategoricalDistribution((1.0,)), None),
        (2.0, FloatDistribution(2.0, 2.0), None),
        (4, IntDistribution(1, 16, log=True), 0.5),
    ],
)
def test_positions_in_log_ranges_are_logarithmic(value, distribution, expected):
    found = position(value, distribution_to_json(distribution))
    assert found is None if expected is None else found == pytest.approx(expected)


def test_median_over_splits_decides_whether_at_edge():
    assert Optimum("map", "lr", "yacht", (0.0, 0.01, 0.9)).at_edge(0.02)
    assert not Optimum("map", "lr", "yacht", (0.0, 0.5, 1.0)).at_edge(0.02)
    assert Optimum("map", "lr", "yacht", (0.99, 1.0)).at_edge(0.02)


@pytest.mark.parametrize("distribution", [None, "[" * 5000, "[]", '{"attributes": 1}', '{"attributes": {"low": 0}}'])
def test_unreadable_search_range_has_no_positions(distribution):
    assert position(1.0, distribution) is None


def tuned(**hparams) -> dict:
    """Columns of a row of MAP on diabetes that was tuned in the wide ranges."""
    protocol = Protocol(space="wide")
    cell = Cell("uci", "diabetes", "map", 0, "tuned", protocol, 0)
    row = {"dataset": "diabetes", "method": "map", "preset": "tuned", "protocol": protocol.to_json(), "nmll": 1.0}
    return row | {"hparams": json.dumps(hparams), "search_space": space_of_cell(cell)}


def test_positions_use_the_search_space_recorded_in_rows(cells):
    chosen = {"lr": 1e-1, "prior_precision": 1.0, "noise_precision": 1e-3}
    untuned = tuned() | {"hparams": None, "split": 1}
    found = {optimum.hparam: optimum.positions for optimum in optima(cells(tuned(**chosen), untuned))}
    assert found["lr"] == (pytest.approx(1),)  # of the wide range, not of MAP's own
    low, high = (math.log10(end) for end in (WIDE["prior_precision"].low, WIDE["prior_precision"].high))
    assert found["prior_precision"] == (pytest.approx(-low / (high - low)),)
    assert set(found) == set(MAP().search_space(task_of("uci", "diabetes")))


def test_edges_command_prints_hparams_at_range_edges(folder):
    out = folder(tuned(lr=1e-1, prior_precision=1.0, noise_precision=1e-3))
    result = CliRunner().invoke(app, ["edges", str(out)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "diabetes (1.00)" in result.output
    assert "1 of 3 optima" in result.output


@pytest.mark.parametrize(
    ("row", "words", "complaint"),
    [
        (tuned(), ["--preset", "tund"], "did you mean 'tuned'?"),
        (tuned() | {"hparams": None}, [], "preset 'tuned' has no tuned cells"),
    ],
)
def test_results_without_tuned_cells_are_refused(folder, row, words, complaint):
    result = CliRunner().invoke(app, ["edges", str(folder(row)), *words])
    assert result.exit_code == 2
    assert complaint in result.stderr
