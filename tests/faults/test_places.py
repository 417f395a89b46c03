"""Folders that cannot be written, and data that vanish while cells run."""

import ctypes
import random
import subprocess

import pytest
from runs import command, rows

DROP_FROM_BOUND, MAY_WRITE_ANYWHERE = 24, 1  # PR_CAPBSET_DROP and CAP_DAC_OVERRIDE of Linux
CACHES = ("XDG_", "BENCH_", "MPLCONFIGDIR")  # beginnings of variables that name other folders than HOME
TABLE = ("--csv", "data/houses.csv", "--target", "price", "--workers", "1")


def without_privileges() -> None:
    """Let the permissions of folders hold for root as well."""
    if hasattr(ctypes.CDLL(None), "prctl"):
        ctypes.CDLL(None).prctl(DROP_FROM_BOUND, MAY_WRITE_ANYWHERE, 0, 0, 0)


@pytest.fixture
def home(tmp_path):
    """A home folder that may only be read."""
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(0o500)
    yield folder
    folder.chmod(0o700)


@pytest.mark.slow
def test_unwritable_home_folder_gives_equal_results(environment, home, tmp_path):
    kept = {name: value for name, value in environment.items() if not name.startswith(CACHES)}
    done = subprocess.run(
        command("--methods", "map", "--splits", "0", "--out", "r"),
        cwd=tmp_path,
        env=kept | {"HOME": str(home)},
        preexec_fn=without_privileges,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("lockstep-bench/native, cannot be written: Permission denied") == 1
    assert "Install one" not in done.stderr
    assert rows(tmp_path / "r")["status"].tolist() == ["ok"]
    assert list(home.iterdir()) == []


@pytest.mark.slow
def test_data_deleted_during_a_run_fail_remaining_cells(run, tmp_path):
    """The first method renames the data folder; what it has loaded is kept and finished."""
    numbers = random.Random(0)
    (tmp_path / "data").mkdir()
    lines = [f"{area},{area / 1000 + numbers.gauss(0, 0.01)}" for area in range(30, 90)]
    (tmp_path / "data" / "houses.csv").write_text("\n".join(["area,price", *lines]))
    done = run("--methods", "lose-data,map", "--splits", "0", "--out", "r", *TABLE)
    assert done.returncode == 1, done.stderr
    found = rows(tmp_path / "r").set_index("method")
    assert found["status"].to_dict() == {"lose-data": "ok", "map": "failed"}
    assert "there is no file data/houses.csv" in found.loc["map", "error"]
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    assert "index.html" in done.stdout
