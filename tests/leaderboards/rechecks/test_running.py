"""Commands of kept cells, as a recheck runs them."""

import json
import subprocess

import pytest

from lockstep_bench.leaderboards.rechecks import running
from lockstep_bench.leaderboards.rechecks.running import NotRun, run_again, words
from lockstep_bench.shared.papers.entries import entries


def test_recheck_runs_the_command_shown_on_pages(row):
    said = " ".join(words(row(preset="paper", split=3)))
    assert said == "--suite uci --datasets energy --methods vifa --splits 3 --preset paper --seed 0"


def test_command_for_a_changed_preset_sets_its_protocol(row):
    said = words(row(preset="paper-modified", protocol=json.dumps({"epochs": 7, "folds": 2})))
    assert "--preset paper" in " ".join(said)
    assert {"epochs=7", "folds=2"} <= set(said)


def test_replication_rows_are_rerun_by_their_entry(row):
    (entry,) = (entry for entry in entries() if entry.name == "vifa-table-1-slang")
    method = "slang-released(bias_precision=1e-06)"
    said = words(row(preset=entry.name, method=method, dataset="yacht"))
    named = said[said.index("--methods") + 1]
    assert said[:4] == ["--suite", "papers", "--preset", entry.name]
    assert named in {name for run in entry.runs for name in run.methods}


def test_failed_recheck_command_keeps_its_log(row, monkeypatch):
    ended = subprocess.CompletedProcess([], 2, stdout="", stderr="a warning\n\nenergy: not available\n")
    monkeypatch.setattr(running.subprocess, "run", lambda *words, **options: ended)
    with pytest.raises(NotRun, match=r"^energy: not available$"):
        run_again(row())
