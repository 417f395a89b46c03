"""Runs of `run_all.py` in an empty folder, with methods that go wrong."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from runs import command, heed_signals


@pytest.fixture
def environment(tmp_path, install_faulty) -> dict[str, str]:
    """With the faulty methods, and another that cannot be imported."""
    site = install_faulty(tmp_path / "site", **{"no-such": "faulty_and_gone:Method"})
    path = os.pathsep.join(part for part in (str(site), os.environ.get("PYTHONPATH")) if part)
    return os.environ | {"PYTHONPATH": path, "BENCH_DATA_DIR": str(tmp_path / "data"), "COLUMNS": "300"}


@pytest.fixture
def run(tmp_path, environment):
    """Runs the command in an empty folder."""

    def run(*arguments: str | Path, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        whole = [*prefix, *command(*arguments)]
        return subprocess.run(whole, capture_output=True, text=True, cwd=tmp_path, env=environment)

    return run


@pytest.fixture
def start(tmp_path, environment):
    """Starts the command in an empty folder, and ends it with what it has started."""

    @contextmanager
    def start(*arguments: str | Path):
        process = subprocess.Popen(
            command(*arguments),
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_signals,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    return start
