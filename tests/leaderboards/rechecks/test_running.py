"""Commands of kept cells, as a recheck runs them."""

import json
import subprocess

import pytest

from lockstep_bench.leaderboards.rechecks import running
from lockstep_bench.leaderboards.rechecks.running import NotRun, run_again, words
from lockstep_bench.shared.papers.entries import entries


def test_command_is_that_of_the_page(row):
    said = " ".join(words(row(preset="paper", split=3)))
    assert said == "--suite uci --datasets energy --methods vifa --splits 3 --preset paper --seed 0"


def test_changed_preset_has_its_whole_protocol(row):
    said = words(row(preset="paper-modified", protocol=json.dumps({"epochs": 7, "folds": 2})))
    assert "--preset paper" in " ".join(said)
    assert {"epochs=7", "folds=2"} <= set(said)


def test_row_of_a_replication_is_run_by_its_entry(row):
    (entry,) = (entry for entry in entries() if entry.name == "vifa-table-1-slang")
    method = "slang-released(bias_precision=1e-06)"
    said = words(row(preset=entry.name, method=method, dataset="yacht"))
    named = said[said.index("--methods") + 1]
    assert said[:4] == ["--suite", "papers", "--preset", entry.name]
    assert named in {name for run in entry.runs for name in run.methods}


def test_log_of_a_command_without_a_row_is_kept(row, monkeypatch):
    ended = subprocess.CompletedProcess([], 2, stdout="", stderr="a warning\n\nenergy: not available\n")
    monkeypatch.setattr(running.subprocess, "run", lambda *words, **options: ended)
    with pytest.raises(NotRun, match=r"^energy: not available$"):
        run_again(row())
