"""Two runs never write to one folder, and a run that was killed keeps nobody out."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from lockstep_bench.bench.environment.provenance import host
from lockstep_bench.bench.results import lock as module
from lockstep_bench.bench.results.lock import HOLDER, LOCK, InUse, locked

HOLD = "import sys, time; from pathlib import Path; from lockstep_bench.bench.results.lock import locked\n"
HOLD += "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"


@contextmanager
def held_by_another(folder: Path):
    path = os.pathsep.join([str(Path(module.__file__).parents[2]), *sys.path])
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}) as process:
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def test_second_runs_error_names_the_lock_holder(tmp_path):
    with held_by_another(tmp_path / "out") as process:
        wanted = rf"another run writes to .*out: process {process.pid} on {host()}, since 20\d\d-.*; wait for its end"
        with pytest.raises(InUse, match=wanted), locked(tmp_path / "out"):
            pass


def test_killed_run_releases_its_lock(tmp_path):
    with held_by_another(tmp_path):
        pass
    assert (tmp_path / HOLDER).exists()
    with locked(tmp_path):
        pass
    assert not (tmp_path / HOLDER).exists()


def test_lock_is_released_after_a_run(tmp_path):
    for _ in range(2):
        with locked(tmp_path):
            pass


@pytest.mark.skipif(os.name != "posix", reason="locks of Windows are others")
def test_lock_also_excludes_runs_of_other_versions(tmp_path):
    """Any version takes the system's lock of this file, whatever it writes beside it."""
    import fcntl

    (tmp_path / HOLDER).write_bytes(b'{"version": 99, "holder": "\xff"}')
    with (tmp_path / LOCK).open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InUse, match=f"another run writes to {tmp_path}; wait for its end"), locked(tmp_path):
            pass


@pytest.mark.parametrize("left", [None, "", "{}", "[]"])
def test_lock_works_without_the_holder_file(tmp_path, left):
    with locked(tmp_path):
        (tmp_path / HOLDER).unlink() if left is None else (tmp_path / HOLDER).write_text(left)
        with pytest.raises(InUse, match=f"another run writes to {tmp_path}; "), locked(tmp_path):
            pass
