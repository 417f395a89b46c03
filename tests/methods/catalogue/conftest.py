"""A shell in which outside packages are installed as a user installs them."""

import importlib.util
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def shell(tmp_path) -> Callable[[str], str]:
    """Runs a command line in `tmp_path / "work"`, in a new virtual environment without a network.

    The environment sees what this Python sees, and has a `pip` that installs into it.
    """
    if absent := [name for name in ("pip", "setuptools") if not importlib.util.find_spec(name)]:
        pytest.skip(f"without {', '.join(absent)} nothing can be installed")
    venv.create(tmp_path / "venv", symlinks=True)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    seen = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    added = "; ".join(f"site.addsitedir({path!r})" for path in seen)
    (site / "seen.pth").write_text(f"{ROOT}\nimport site; {added}\n")
    programs = tmp_path / "venv" / "bin"
    (programs / "pip").write_text(f'#!/bin/sh\nexec {programs}/python -m pip "$@"\n')
    (programs / "pip").chmod(0o755)
    (tmp_path / "work").mkdir()
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # 0 means no isolation
    others = {"OMP_NUM_THREADS": "1", "COLUMNS": "120", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = os.environ | offline | others | {"PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    environment.pop("PYTHONPATH", None)

    def run(line: str) -> str:
        result = subprocess.run(
            line, shell=True, cwd=tmp_path / "work", env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run
