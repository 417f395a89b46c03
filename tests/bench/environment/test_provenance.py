"""Provenance of a number: revision of the code and its changes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from lockstep_bench.bench.environment import provenance


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def revision_seen_from(folder: Path) -> tuple[str, bool | None]:
    code = "import json, bench.environment.provenance as p; print(json.dumps(p.code_revision()))"
    found = subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)
    return tuple(json.loads(found.stdout))


def test_recorded_revision_is_the_git_commit_and_dirty_flag(tmp_path):
    room = tmp_path / "bench/environment"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").touch()
    (room / "__init__.py").touch()
    copy = shutil.copy(provenance.__file__, room)
    assert revision_seen_from(tmp_path) == ("unversioned", None)
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "somebody else's")
    assert revision_seen_from(tmp_path) == ("unversioned", None)  # an installed copy below another checkout
    names = ("README.md", "docs/page.svg", "tests/test_it.py", "leaderboards/results/rechecks.json")
    texts = [tmp_path / name for name in names]
    for text in texts:
        text.parent.mkdir(parents=True, exist_ok=True)
        text.touch()
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "ours")
    commit = git(tmp_path, "rev-parse", "HEAD")
    for text in texts:
        text.write_text("changes no number")
    assert revision_seen_from(tmp_path) == (commit, False)
    Path(copy).write_text(Path(copy).read_text() + "\n")
    assert revision_seen_from(tmp_path) == (commit, True)


def test_recorded_versions_include_numerical_libraries():
    assert {"python", "torch", "numpy", "optuna"} <= json.loads(provenance.versions()).keys()
