"""Long runs under real faults: broken methods, kills, full disks, Ctrl-C."""

import random
import re
import shutil
import signal
import subprocess
import time

import pandas as pd
import psutil
import pytest
from runs import alive, children_of, finished, rows, until, wait_for

N_KILLS = 50


def together(test):
    """Mark one of the tests of a run of ten broken methods, which one process makes in two minutes."""
    return pytest.mark.slow(pytest.mark.xdist_group("broken")(test))


NO_NAMESPACE = "this system lets nobody but its owner mount a folder"


@pytest.fixture
def found(broken) -> pd.DataFrame:
    folder, _ = broken
    return pd.read_parquet(folder / "r" / "cells").set_index("method")


@together
def test_broken_methods_fail_without_affecting_others(broken, found):
    _, done = broken
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    failed = {"kill", "garble", "fill", "close-files", "daemon", "raise-mutely", "leak"}
    assert "Cells: 3 ok, 7 failed" in done.stdout
    assert set(found.loc[found["status"] == "ok"].index) == {"map", "fork", "lose-streams"}
    assert set(found.loc[found["status"] == "failed"].index) == failed


@together
def test_killed_process_is_retried_and_its_log_kept(broken, found):
    _, done = broken
    assert found.loc["kill", "error_class"] == "SIGKILL"
    assert "about to die" in found.loc["kill", "log"]
    assert done.stderr.count("its process was killed by SIGKILL (will be retried alone, at the end)") == 1


@together
def test_undecodable_and_huge_error_texts_are_stored(broken, found, invoke_in):
    folder, done = broken
    assert "cannot open caf\\udce9.csv \\u001b[2Jxxx" in found.loc["garble", "error"]
    assert len(found.loc["garble", "error"]) <= 20_000
    assert "\\u001b]0;a title" in found.loc["garble", "log"]
    assert "\x1b" not in done.stderr + done.stdout
    assert len(done.stderr) < 20_000
    assert "caf\\udce9.csv" in "".join(path.read_text() for path in (folder / "r" / "html").rglob("*.html"))
    again = invoke_in(folder, "--splits", "0", "--out", "r", "--methods", "garble")
    assert "1 cells, 1 of them finished before" in again.stdout
    assert again.exit_code == 1


@together
def test_full_disk_and_closed_files_fail_only_the_method(found):
    assert "[Errno 28] No space left on device" in found.loc["fill", "error"]
    assert "faulty.py" in found.loc["fill", "error"]
    # It may end by itself before the driver sees the closed pipe.
    assert re.match("its process (closed the pipe for its results|ended by itself)", found.loc["close-files", "error"])


@together
def test_leftovers_of_a_method_do_not_affect_the_next_cell(found):
    assert found["nmll"].dropna().nunique() == 3  # no row has the numbers of another
    assert found.loc["raise-mutely", "error_class"].endswith(".Mute")
    assert "Too many open files" in found.loc["leak", "error"]


@together
def test_daemon_processes_of_a_method_end_with_the_run(broken):
    folder, _ = broken
    daemon = int((folder / "site" / "daemon").read_text())
    assert not psutil.pid_exists(daemon) or "faulty" not in " ".join(psutil.Process(daemon).cmdline())


@pytest.mark.slow
def test_every_method_failure_becomes_a_row_with_its_reason(run, tmp_path):
    wrong = {
        "kill": ("failed", "SIGKILL", "its process was killed by SIGKILL"),
        "exhaust": ("failed", "numpy._core._exceptions._ArrayMemoryError", "Unable to allocate"),
        "hang": ("timeout", "Timeout", "not done after 60 seconds"),
        "raise": ("failed", "KeyError", "nothing there"),
        "nan": ("diverged", "lockstep_bench.bench.evaluation.tuning.tuner.Diverged", "all 2 trials diverged"),
        "misshapen": ("failed", "TypeError", "misshapen.predict must return"),
        "leave": ("failed", "SystemExit", "ended by itself, with exit code 1"),
    }
    logs = {"kill": "about to die", "hang": "in init", "raise": "about to raise", "leave": "goodbye"}
    done = run("--methods", f"map,kill-once,{','.join(wrong)}", "--splits", "0", "--out", "r", "--timeout", "60")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    found = pd.read_parquet(tmp_path / "r" / "cells").set_index(["method", "split"]).sort_index()
    assert len(found) == 2 + len(wrong)
    assert (found.loc[["map", "kill-once"], "status"] == "ok").all()
    for (method, _), row in found.loc[list(wrong)].iterrows():
        status, error_class, error = wrong[method]
        assert (row["status"], row["error_class"]) == (status, error_class)
        assert error in row["error"]
        assert logs.get(method, "") in row["log"]
        assert row["elapsed_seconds"] > 0


@pytest.mark.slow
def test_run_killed_fifty_times_gives_equal_results(start, run, tmp_path):
    methods = "map,swa,swag,laplace,mfvi,mfvi-mean,vifa-lr,vifa,mc-dropout,directuq-mean"
    arguments = ("--methods", methods, "--splits", "0-1")
    began = time.monotonic()
    assert run(*arguments, "--out", "calm").returncode == 0
    seconds, calm = time.monotonic() - began, rows(tmp_path / "calm")
    moments, kills, folders, inside = random.Random(0), 0, 0, 0
    while kills < N_KILLS:
        out, began = tmp_path / str(folders), time.monotonic()
        before = finished(out)
        with start(*arguments, "--out", out.name) as process:
            if moments.random() < 0.5:  # any moment, most of which are before the first cell
                over_at = began + moments.uniform(0, seconds)
                wait_for(lambda: process.poll() is not None or time.monotonic() > over_at)  # noqa: B023 (called at once)
            else:  # about when a cell is stored
                wait_for(lambda: process.poll() is not None or finished(out) > before)  # noqa: B023
                time.sleep(moments.uniform(0, 0.5))
            if process.poll() is None:
                started = children_of(process.pid)
                process.kill()
                process.wait()
                kills += 1
                inside += 0 < finished(out) < len(calm)
                wait_for(lambda: not alive(started), 30)  # noqa: B023
                continue
            assert process.returncode == 0
        seconds = min(seconds, time.monotonic() - began)  # the machine may have become less busy
        pd.testing.assert_frame_equal(rows(out), calm)
        folders += 1
    assert run(*arguments, "--out", out.name).returncode == 0
    pd.testing.assert_frame_equal(rows(out), calm)
    print(f"{kills} kills, {inside} of them between the first and the last cell, in {folders + 1} folders")


@pytest.mark.slow
def test_second_run_on_the_same_folder_is_refused(start, run, tmp_path):
    arguments = ("--methods", "hang", "--splits", "0", "--out", "r")
    with start(*arguments) as first:
        wait_for(lambda: (tmp_path / "r" / ".lock-holder.json").exists())
        second = run(*arguments)
        assert second.returncode == 2
        assert f"another run writes to r: process {first.pid} on" in second.stderr


def test_first_ctrl_c_finishes_running_cells_second_drops_them(start, tmp_path):
    arguments = ("--methods", "hang", "--splits", "0-1", "--out", "r")
    with start(*arguments) as process:
        wait_for(lambda: (tmp_path / "r" / "studies").exists())
        started = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        said = until("Interrupted: finishing what runs: ", process.stderr)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        errors = said + process.communicate(timeout=60)[1]
    assert process.returncode == 130, errors
    assert "Interrupted: finishing what runs: diabetes hang split" in errors
    assert "dropped diabetes hang split" in errors
    assert "0 of 2 cells finished; the same command goes on from here." in errors
    assert "Traceback" not in errors
    assert not alive(started)


@pytest.mark.usefixtures("environment", "jobs_run_here")
def test_unimportable_method_is_listed_in_one_line(invoke_in, tmp_path):
    done = invoke_in(tmp_path, "--methods", "map,no-such", "--splits", "0", "--out", "r")
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert "ModuleNotFoundError: No module named 'faulty_and_gone'" in done.stderr
    assert "Traceback" not in done.stderr


def in_a_small_folder(size: str, *then: str) -> tuple[str, ...]:
    """A prefix that runs a command where ./r is a file system of that size."""
    script = f"mkdir -p r && mount -t tmpfs -o size={size} t r && {' && '.join(then)}" + ' && "$@"'
    return ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh")


@pytest.fixture
def namespaces(tmp_path):
    trial = [*in_a_small_folder("10k", "true"), "true"]
    if not shutil.which("unshare") or subprocess.run(trial, cwd=tmp_path, capture_output=True).returncode:
        pytest.skip(NO_NAMESPACE)


@pytest.mark.slow
def test_full_disk_stops_the_run_with_a_remedy(run, invoke_in, namespaces, tmp_path):
    # What is kept is copied out of the file system, which ends with the command.
    keep = ("sh", "-c", '"$@"; code=$?; cp -r r kept; exit $code', "sh")
    arguments = ("--methods", "map", "--splits", "0-7", "--workers", "1", "--out", "r")
    done = run(*arguments, prefix=(*in_a_small_folder("160k", "true"), *keep))
    assert done.returncode == 3, done.stderr
    assert "not stored: [Errno 28] No space left on device: 'r/" in done.stderr
    assert "What was finished before is kept in r. Make room on the disk of r/" in done.stderr
    assert "Traceback" not in done.stderr
    n_kept = len(rows(tmp_path / "kept"))
    assert 0 < n_kept < 8

    resumed = invoke_in(tmp_path, *arguments[:-1], "kept")
    assert resumed.exit_code == 0, resumed.stderr
    assert f"{n_kept} of them finished before" in resumed.stdout
    assert (rows(tmp_path / "kept")["status"] == "ok").tolist() == [True] * 8


def test_read_only_folder_is_reported_before_any_work(run, namespaces):
    prefix = in_a_small_folder("160k", "mount -o remount,ro r")
    done = run("--methods", "map", "--splits", "0", "--out", "r", prefix=prefix)
    assert done.returncode == 2
    assert "--out 'r': nothing can be written in r (Read-only file system); give another folder" in done.stderr
    assert "Traceback" not in done.stderr
