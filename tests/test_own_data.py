"""A user's own table, from one command to a page."""

import json

import numpy as np
import pandas as pd
import pytest
from built_pages import Page
from typer.testing import CliRunner

from lockstep_bench import datasets, leaderboards
from lockstep_bench.run import app

TINY = ("--trials", "2", "--folds", "2", "--epochs", "2", "--workers", "2", "--out", "r")


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run a command in this process, which has imported everything; the table is forgotten after each command."""
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("BENCH_OWN_TABLES", raising=False)
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str):
        with datasets.added([]):
            return CliRunner().invoke(app, list(arguments))

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


def test_csv_run_can_be_resumed_only_with_same_table(invoke, jobs_run_here, houses, tmp_path, monkeypatch):
    asked = ("--csv", "houses.csv", "--target", "price", "--methods", "map,constant", *TINY)
    refused = invoke(*asked)
    assert (refused.exit_code, (tmp_path / "r").exists()) == (2, False)
    assert "area (2)" in refused.stderr

    monkeypatch.setattr(
        "lockstep_bench.bench.console.forecast.measuring", lambda *arguments: None
    )  # which has tests of its own
    planned = invoke(*asked, "--impute", "median", "--dry-run")
    assert planned.exit_code == 0, planned.stderr
    assert not (tmp_path / "r").exists()

    first = invoke(*asked, "--impute", "median")
    assert first.exit_code == 0, first.stderr
    rows = pd.read_parquet(tmp_path / "r" / "cells")
    assert rows["status"].tolist() == ["ok"] * 4
    assert set(rows["dataset"]) == {"houses"}
    row = rows[rows["method"] == "map"].iloc[0]
    train = datasets.fixed_splits(len(houses), 20, 0)[row["split"]].train
    space = json.loads(row["search_space"])["noise_precision"]["attributes"]
    assert space["low"] == pytest.approx(1 / houses["price"][train].var(ddof=0))
    listed = [line.split() for line in first.stdout.splitlines()]
    assert ["area", "number", "2", "missing", repr(float(houses["area"][0]))[:6]] in [
        [*words[:-1], words[-1][:6]] for words in listed if words
    ]
    page = (tmp_path / "r/html/dataset-houses.html").read_text()
    assert "houses: price" in page
    command = "--csv houses.csv --target price --task regression --impute median --methods map"
    assert command in "".join(Page(page).text)
    assert "4 cells, 4 of them finished before" in invoke(*asked, "--impute", "median").stdout

    leaderboards.build(tmp_path / "r", tmp_path / "site")
    assert (tmp_path / "site/dataset-houses.html").read_text() == page

    houses.iloc[:-1].to_csv(tmp_path / "houses.csv", index=False)
    changed = invoke(*asked, "--impute", "median")
    assert changed.exit_code == 2
    assert "the results folder holds other data than are here: 4 cells of houses" in changed.stderr


def test_csv_reading_options_reach_workers_and_pages(invoke, tmp_path):
    """Its worker is a process, to which the table has to be passed on."""
    rows = [f'"{row},250",{"x" if row % 9 == 0 else row % 5 + 0.5},{row**2 % 37}' for row in range(1, 61)]
    (tmp_path / "bare.csv").write_text("\n".join(rows))
    options = ("--target", "3", "--thousands", ",", "--na-values", "x", "--no-header", "--impute", "median")
    done = invoke("--csv", "bare.csv", *options, "--methods", "map", "--splits", "0", *TINY)
    assert done.exit_code == 0, done.stderr
    assert ["1", "number", "1250"] in map(str.split, done.stdout.splitlines())
    assert pd.read_parquet(tmp_path / "r" / "cells")["status"].tolist() == ["ok"]
    command = "--csv bare.csv --target 3 --task regression --thousands , --na-values x --no-header --impute median"
    assert command in "".join(Page((tmp_path / "r/html/dataset-bare.html").read_text()).text)


def test_only_first_columns_of_a_wide_table_are_listed(invoke, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 30))).add_prefix("c")
    frame.assign(city=np.resize(["Oslo", "Bern"], 60)).to_csv(tmp_path / "wide.csv", index=False)
    shown = invoke("--csv", "wide.csv", "--target", "c0", "--methods", "map", "--folds", "99", "--dry-run").stdout
    assert "c19" in shown
    assert "c20" not in shown
    assert "and 11 more columns: 10 number, 1 category" in shown


@pytest.mark.parametrize("words", [("--dry-run",), ()])
def test_more_folds_than_training_rows_are_refused(invoke, houses, tmp_path, words):
    asked = ("--csv", "houses.csv", "--target", "price", "--methods", "map", "--impute", "median", "--out", "r", *words)
    refused = invoke(*asked, "--folds", "55")
    assert "split 0 of houses has 54 training rows; a fold needs at least one, so give at most 54" in refused.stderr
    assert (refused.exit_code, (tmp_path / "r").exists()) == (2, False)


@pytest.mark.parametrize("option", ["--out", "--html", "--data-dir"])
def test_empty_folder_argument_is_refused(invoke, houses, tmp_path, option):
    refused = invoke("--csv", "houses.csv", "--target", "price", "--impute", "median", option, "")
    assert refused.exit_code == 2
    assert "the folder has no name; write . for the current folder" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["houses.csv"]
