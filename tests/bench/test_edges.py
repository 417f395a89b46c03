"""Positions of chosen values in their ranges."""

import json
import math
import re

import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from typer.testing import CliRunner

from lockstep_bench.bench.edges import Place, app, places, position
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.protocol import Protocol
from lockstep_bench.bench.experiment.tasks import task_of
from lockstep_bench.bench.results.earlier import space_of_cell
from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.search_spaces import WIDE


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
    ],
)
def test_positions_are_on_the_ranges_scale(value, distribution, expected):
    found = position(value, distribution)
    assert found is None if expected is None else found == pytest.approx(expected)


def test_median_over_splits_decides():
    assert Place("map", "lr", "yacht", (0.0, 0.01, 0.9)).at_edge(0.02)
    assert not Place("map", "lr", "yacht", (0.0, 0.5, 1.0)).at_edge(0.02)
    assert Place("map", "lr", "yacht", (0.99, 1.0)).at_edge(0.02)


def cells(preset: str = "tuned", **hparams) -> pd.DataFrame:
    protocol = Protocol(space="wide")
    space = space_of_cell(Cell("uci", "diabetes", "map", 0, preset, protocol, 0))
    row = {"suite": "uci", "dataset": "diabetes", "method": "map", "preset": preset, "protocol": protocol.to_json()}
    row |= {"search_space": space}
    return pd.DataFrame([row | {"hparams": json.dumps(hparams)}, row | {"hparams": None}])


def test_places_use_the_rows_search_space():
    chosen = {"lr": 1e-1, "prior_precision": 1.0, "noise_precision": 1e-3}
    found = {place.hparam: place.positions for place in places(cells(**chosen))}
    assert found["lr"] == (pytest.approx(1),)  # of the wide range, not of MAP's own
    low, high = (math.log10(end) for end in (WIDE["prior_precision"].low, WIDE["prior_precision"].high))
    assert found["prior_precision"] == (pytest.approx(-low / (high - low)),)
    assert set(found) == set(MAP().search_space(task_of("uci", "diabetes")))


def test_command_prints_optima_at_edges(tmp_path):
    (tmp_path / "cells").mkdir()
    cells(lr=1e-1, prior_precision=1.0, noise_precision=1e-3).to_parquet(tmp_path / "cells" / "one.parquet")
    result = CliRunner().invoke(app, [str(tmp_path)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "diabetes (1.00)" in result.output
    assert "1 of 3 optima" in result.output


@pytest.mark.parametrize("preset", ["tuned", "paper"])
def test_folders_without_tuned_cells_are_refused(tmp_path, preset):
    result = CliRunner().invoke(app, [str(tmp_path), "--preset", preset])
    assert result.exit_code == 2
    words = re.sub(r"[\s│]+", " ", result.output)  # the message is wrapped in a box
    assert f"no cells of the preset '{preset}'" in words
