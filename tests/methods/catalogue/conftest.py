"""A shell in which outside packages are installed as a user installs them."""

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[3]
OUTSIDE = ROOT / "tests" / "assets" / "outside"


@pytest.fixture
def shell(tmp_path) -> Callable[[str], str]:
    """Runs a command line in `tmp_path / "work"`, in a new virtual environment without a network."""
    return shell_in(tmp_path)


@pytest.fixture(scope="session")
def outside(tmp_path_factory) -> dict[str, dict]:
    """Cells of the packages in `assets/outside` by method, of one run of the commands in `docs/foreign-libraries.md`.

    Each row has its predictions, a table, as "predictions". Tests that use this are in the xdist group "outside".
    """
    folder = tmp_path_factory.mktemp("outside")
    shell = shell_in(folder)
    shutil.copytree(OUTSIDE, folder / "work", dirs_exist_ok=True)
    text = (ROOT / "docs" / "foreign-libraries.md").read_text(encoding="utf-8")
    install, _, run = [line.strip() for line in text.splitlines() if line.startswith("    p")][:3]
    shell(f"{install} -e boosted -e vadam -e langevin")
    few = "--splits 0 --trials 2 --folds 2 --epochs 1 --workers 1 --out results"
    shell(f"{run.replace('run_all.py', str(ROOT / 'run_all.py'))},boosted,vadam,langevin {few}")
    results = folder / "work" / "results"
    rows = {row["method"]: row for row in pq.read_table(results / "cells").to_pylist()}
    for method, row in rows.items():
        (stored,) = (results / "predictions").rglob(f"{method}/**/*.parquet")
        row["predictions"] = pq.read_table(stored)
    return rows


def shell_in(folder: Path) -> Callable[[str], str]:
    """Return what runs a command line in `folder / "work"`, in a new virtual environment.

    The environment sees what this Python sees, and has a `pip` that installs into it.
    """
    if absent := [name for name in ("pip", "setuptools") if not importlib.util.find_spec(name)]:
        pytest.skip(f"without {', '.join(absent)} nothing can be installed")
    venv.create(folder / "venv", symlinks=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    seen = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    added = "; ".join(f"site.addsitedir({path!r})" for path in seen)
    (site / "seen.pth").write_text(f"{ROOT}\nimport site; {added}\n")
    programs = folder / "venv" / "bin"
    (programs / "pip").write_text(f'#!/bin/sh\nexec {programs}/python -m pip "$@"\n')
    (programs / "pip").chmod(0o755)
    (folder / "work").mkdir()
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # 0 means no isolation
    others = {"OMP_NUM_THREADS": "1", "COLUMNS": "120", "XDG_CACHE_HOME": str(folder / "cache")}
    environment = os.environ | offline | others | {"PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    environment.pop("PYTHONPATH", None)

    def run(line: str) -> str:
        result = subprocess.run(line, shell=True, cwd=folder / "work", env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run
