"""A user's own table, from one command to a page, in real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import datasets
import leaderboards
import run_all

ROOT = Path(__file__).resolve().parent.parent
TINY = ("--trials", "2", "--folds", "2", "--epochs", "2", "--workers", "2", "--out", "r")


@pytest.fixture
def run(tmp_path):
    """`run(*arguments)`: run the command in an empty folder, without the project's data."""
    environment = os.environ | {"BENCH_DATA_DIR": str(tmp_path / "data"), "COLUMNS": "300"}
    environment.pop("BENCH_OWN_TABLES", None)

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, str(ROOT / "run_all.py"), *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """The same in this process, which has imported everything already; the table is forgotten after each command."""
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str):
        with datasets.added([]):
            return CliRunner().invoke(run_all.app, list(arguments))

    return invoke


@pytest.fixture
def houses(tmp_path) -> pd.DataFrame:
    """A table of 60 rows with missing values, in `houses.csv`."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"area": generator.uniform(30, 200, 60), "city": np.resize(["Oslo", "Bern", "Rome"], 60)})
    frame["price"] = 0.001 * frame["area"] + generator.normal(scale=0.01, size=60)
    frame.loc[[2, 5], "area"] = np.nan
    frame.to_csv(tmp_path / "houses.csv", index=False)
    return frame


def test_a_table_is_run_resumed_and_guarded(run, invoke, houses, tmp_path, monkeypatch):
    asked = ("--csv", "houses.csv", "--target", "price", "--methods", "map,constant", *TINY)
    refused = invoke(*asked)
    assert (refused.exit_code, (tmp_path / "r").exists()) == (2, False)
    assert "area (2)" in refused.stderr

    monkeypatch.setattr("bench.console.forecast.measuring", lambda *arguments: None)  # which has tests of its own
    planned = invoke(*asked, "--impute", "median", "--dry-run")
    assert planned.exit_code == 0, planned.stderr
    assert not (tmp_path / "r").exists()

    first = run(*asked, "--impute", "median")
    assert first.returncode == 0, first.stderr
    rows = pd.read_parquet(tmp_path / "r" / "cells")
    assert rows["status"].tolist() == ["ok"] * 4
    assert set(rows["dataset"]) == {"houses"}
    row = rows[rows["method"] == "map"].iloc[0]
    train = datasets.fixed_splits(len(houses), 20, 0)[row["split"]].train
    space = json.loads(row["search_space"])["noise_precision"]["attributes"]
    assert space["low"] == pytest.approx(1 / houses["price"][train].var(ddof=0))
    page = (tmp_path / "r/html/dataset-houses.html").read_text()
    assert "houses: price" in page
    assert "--csv houses.csv --target price --task regression --impute median --methods map" in page
    assert "4 cells, 4 of them finished before" in invoke(*asked, "--impute", "median").stdout

    leaderboards.build(tmp_path / "r", tmp_path / "site")
    assert (tmp_path / "site/dataset-houses.html").read_text() == page

    houses.iloc[:-1].to_csv(tmp_path / "houses.csv", index=False)
    changed = invoke(*asked, "--impute", "median")
    assert changed.exit_code == 2
    assert "the results folder holds other data than are here: 4 cells of houses" in changed.stderr
