"""Folders for the Hugging Face Hub: their settings are YAML and name files that exist."""

import hashlib
import json

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from lockstep_bench.leaderboards.__main__ import app
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.publishing import compact


@pytest.fixture
def hub(folder, small_run, tmp_path, monkeypatch):
    """A folder for the Hub, with results of two suites, of which `uci` has three files."""
    monkeypatch.setattr(compact, "MOST_ROWS", 15)
    out = folder(*small_run, {"suite": "my: suite", "nmll": 1.0})
    said = CliRunner().invoke(app, ["publish", str(out), "--to", f"huggingface:{tmp_path / 'hub'}"])
    assert said.exit_code == 0, said.output
    assert [line for line in said.stdout.splitlines() if "hf upload" in line] == [
        f"to upload it: hf upload OWNER/NAME {tmp_path / 'hub' / kind} . --repo-type {kind}"
        for kind in ("dataset", "space")
    ]
    return tmp_path / "hub"


def settings(readme):
    before, text, _ = readme.read_text(encoding="utf-8").split("---\n", 2)
    assert before == ""
    return yaml.safe_load(text)


def test_card_of_the_data_set_names_every_file_of_each_suite(hub, cells, small_run):
    card = settings(hub / "dataset" / "README.md")
    assert card["license"] == "mit"
    rows = {
        config["config_name"]: pd.concat(pd.read_parquet(hub / "dataset" / name) for name in config["data_files"])
        for config in card["configs"]
    }
    assert {name: len(table) for name, table in rows.items()} == {"my%3A%20suite": 1, "uci": len(cells(*small_run))}
    named = [name for config in card["configs"] for name in config["data_files"]]
    there = [path.relative_to(hub / "dataset").as_posix() for path in (hub / "dataset/results/cells").iterdir()]
    assert sorted(named) == sorted(there)


def test_metadata_of_the_data_set_name_files_that_exist(hub):
    described = json.loads((hub / "dataset" / "croissant.json").read_text(encoding="utf-8"))
    assert all((hub / "dataset" / one["contentUrl"]).is_file() for one in described["distribution"] if "sha256" in one)
    assert len(read_results(hub / "dataset" / "results").rows) == len(read_results(hub / "space" / "results").rows)


def test_space_is_static_and_begins_with_the_index(hub):
    space = settings(hub / "space" / "README.md")
    assert (space["sdk"], space["app_file"]) == ("static", "index.html")
    assert (hub / "space" / space["app_file"]).is_file()
    digest = hashlib.sha256((hub / "space" / "README.md").read_bytes()).hexdigest()
    assert f"{digest}  README.md\n" in (hub / "space" / "SHA256SUMS").read_text()


def test_folder_for_the_hub_is_replaced_as_a_whole(hub):
    again = ["publish", str(hub / "dataset" / "results"), "--to", f"huggingface:{hub}"]
    before = (hub / "SHA256SUMS").read_bytes()
    assert CliRunner().invoke(app, again).exit_code == 0
    assert (hub / "SHA256SUMS").read_bytes() == before
    (hub / "dataset" / "mine.txt").touch()
    refused = CliRunner().invoke(app, again)
    assert (refused.exit_code, "mine.txt" in refused.stderr) == (2, True)
