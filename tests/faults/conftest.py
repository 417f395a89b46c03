"""Runs of `run_all.py` in an empty folder, with methods that go wrong."""

import os
import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
from runs import command, heed_signals
from typer.testing import CliRunner

from lockstep_bench.methods.catalogue import registry
from lockstep_bench.run import app

Run = Callable[..., subprocess.CompletedProcess]


def environment_of(site: Path) -> dict[str, str]:
    """Return an environment with the methods that are installed in `site`, and with data beside it."""
    path = os.pathsep.join(part for part in (str(site), os.environ.get("PYTHONPATH")) if part)
    return os.environ | {"PYTHONPATH": path, "BENCH_DATA_DIR": str(site.with_name("data")), "COLUMNS": "300"}


def run_in(folder: Path, environment: dict[str, str]) -> Run:
    """Return what runs the command in a folder."""

    def run(*arguments: str | Path, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        whole = [*prefix, *command(*arguments)]
        return subprocess.run(whole, capture_output=True, text=True, cwd=folder, env=environment)

    return run


@pytest.fixture
def environment(tmp_path, install_faulty) -> dict[str, str]:
    """Environment variables of a run with the faulty methods, and another that cannot be imported."""
    return environment_of(install_faulty(tmp_path / "site", **{"no-such": "faulty_and_gone:Method"}))


@pytest.fixture
def run(tmp_path, environment) -> Run:
    """Runs the command in an empty folder."""
    return run_in(tmp_path, environment)


@pytest.fixture
def invoke_in(monkeypatch):
    """`invoke_in(folder, *arguments)`: the command in this process, with what `install_faulty` has put there."""

    def invoke_in(folder: Path, *arguments: str | Path):
        monkeypatch.setenv("BENCH_DATA_DIR", str(folder / "data"))
        monkeypatch.setenv("COLUMNS", "300")
        monkeypatch.syspath_prepend(folder / "site")
        monkeypatch.chdir(folder)
        registry._targets.cache_clear()
        return CliRunner().invoke(app, command(*arguments)[2:])

    yield invoke_in
    registry._targets.cache_clear()


@pytest.fixture(scope="session")
def broken(tmp_path_factory, install_faulty) -> tuple[Path, subprocess.CompletedProcess]:
    """A folder, and how a run there, of MAP and methods that break, has ended."""
    folder = tmp_path_factory.mktemp("broken")
    run = run_in(folder, environment_of(install_faulty(folder / "site")))
    methods = "map,kill,garble,fill,close-files,daemon,fork,raise-mutely,lose-streams,leak"
    return folder, run("--splits", "0", "--workers", "1", "--out", "r", "--methods", methods)


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
