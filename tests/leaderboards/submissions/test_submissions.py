"""Submissions as users make and check them: folders that hold a method, its rows and how they stand."""

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from lockstep_bench.leaderboards.__main__ import app
from lockstep_bench.leaderboards.data.rechecks import DIFFERENT, EQUAL, NOT_RUN, Again, Recheck, write_rechecks
from lockstep_bench.leaderboards.data.results import read_results


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def package(tmp_path):
    """A package with the method `mine`."""
    (tmp_path / "package" / "src").mkdir(parents=True)
    (tmp_path / "package" / "src" / "mine.py").write_text("class Mine: ...\n")
    (tmp_path / "package" / "pyproject.toml").write_text(
        '[project]\nname = "lockstep-mine"\n\n[project.entry-points."lockstep_bench.methods"]\nmine = "mine:Mine"\n'
    )
    return tmp_path / "package"


def row(split, **changes):
    return {"method": "mine", "split": split, "nmll": 1.0 + split, "checked": "passed"} | changes


@pytest.fixture
def submission(folder, package, tmp_path):
    out = folder(row(0), row(1), row(2, status="diverged", nmll=None), {"method": "map", "nmll": 2.0})
    said = command("submit", out, "--package", package, "--to", tmp_path / "submission", "--by", "Ada")
    assert said.exit_code == 0, said.output
    return tmp_path / "submission"


def rechecked(submission, *outcomes):
    kept = read_results(submission / "results").rows.iloc[0]
    names = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
    cell = {name: kept[name] if isinstance(kept[name], str) else int(kept[name]) for name in names}
    cells = tuple(
        Again(
            **cell, metric="nmll", kept=1.0, new=1.0, noise=0.1, kept_identity=None, new_identity=None, outcome=outcome
        )
        for outcome in outcomes
    )
    write_rechecks([Recheck(datetime.now(UTC).isoformat(), "abc", 2, 1, cells)], submission / "results")


def test_submission_has_the_methods_own_rows_and_its_package(submission):
    rows = read_results(submission / "results").rows
    assert sorted(zip(rows["method"], rows["split"], strict=True)) == [("mine", 0), ("mine", 1), ("mine", 2)]
    assert (submission / "package" / "src" / "mine.py").is_file()
    described = json.loads((submission / "submission.json").read_text(encoding="utf-8"))
    assert described["contents"] == "3 cells: 1 method on 1 data set"
    assert (described["by"], described["failed"]) == ("Ada", "1 cell")
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=submission, check=False)
    assert checked.returncode == 0


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        ((), "self-reported"),
        ((NOT_RUN,), "self-reported"),
        ((EQUAL, EQUAL), "reproduced"),
        ((EQUAL, DIFFERENT), "rechecked"),
        ((EQUAL, NOT_RUN), "rechecked"),
    ],
)
def test_standing_follows_from_the_latest_recheck(submission, outcomes, state):
    if outcomes:
        rechecked(submission, *outcomes)
    said = command("standing", submission)
    assert said.exit_code == 0, said.output
    assert f"  {state}: " in said.stdout


def test_changed_rows_have_no_standing(submission):
    (file,) = (submission / "results" / "cells").iterdir()
    file.write_bytes(file.read_bytes() + b"0")
    said = command("standing", submission)
    assert said.exit_code == 2
    assert "is not as it was submitted" in said.stderr


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([{"method": "map", "nmll": 1.0}], "no finished cell of 'mine'"),
        ([row(0, status="failed", nmll=None)], "no finished cell of 'mine'"),
        ([row(0, checked="not checked")], "python -m methods check mine"),
        ([row(0, code_dirty=True)], "uncommitted changes"),
    ],
)
def test_rows_that_others_cannot_rely_on_are_refused(folder, package, tmp_path, rows, complaint):
    said = command("submit", folder(*rows), "--package", package, "--to", tmp_path / "to", "--by", "Ada")
    assert said.exit_code == 2
    assert complaint in " ".join(said.stderr.split())
    assert not (tmp_path / "to").exists()


def test_folder_without_methods_is_no_package(folder, package, tmp_path):
    (package / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    said = command("submit", folder(row(0)), "--package", package, "--to", tmp_path / "to", "--by", "Ada")
    assert said.exit_code == 2
    assert "names no method" in said.stderr


WORKFLOW = Path(__file__).parents[3] / ".github" / "workflows" / "submissions.yml"
RECORDED = '#!/bin/sh\necho "$0 $*" | sed "s|^[^ ]*/||" >> calls\ncase "$*" in *recheck*) exit 1;; esac\necho said\n'


@pytest.fixture
def pull_request(tmp_path):
    """A function that commits a change and runs the workflow's commands, with programs that only record their calls."""
    repository, commands = tmp_path / "repository", tmp_path / "bin"
    commands.mkdir()
    for name in ("uv", "python"):
        (commands / name).write_text(RECORDED)
        (commands / name).chmod(0o755)

    def git(*words):
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.run(
            ["git", *identity, *words], cwd=repository, check=True, capture_output=True, text=True
        ).stdout.strip()

    def run(change):
        repository.mkdir()
        git("init", "--quiet")
        git("commit", "--quiet", "--allow-empty", "--message", "base")
        base = git("rev-parse", "HEAD")
        change(repository)
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", "submission")
        environment = os.environ | {
            "BASE": base,
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "PATH": f"{commands}:{os.environ['PATH']}",
        }
        for step in yaml.safe_load(WORKFLOW.read_text())["jobs"]["recheck"]["steps"]:
            if "run" in step:
                subprocess.run(["bash", "-e", "-c", step["run"]], cwd=repository, env=environment, check=True)
        calls = (repository / "calls").read_text().splitlines()
        return [call for call in calls if "submissions/" in call], (tmp_path / "summary.md").read_text()

    return run


def test_workflow_installs_and_rechecks_the_new_submission(submission, pull_request):
    calls, summary = pull_request(lambda to: shutil.copytree(submission, to / "submissions" / "mine"))
    assert calls == [
        "python -m leaderboards standing submissions/mine",
        "uv pip install --system ./submissions/mine/package",
        "python -m leaderboards recheck submissions/mine/results --cells 5",
        "python -m leaderboards standing submissions/mine",
    ]
    assert summary == "said\n"


def test_workflow_accepts_a_pull_request_without_a_new_submission(pull_request):
    assert pull_request(lambda to: None) == ([], "")
