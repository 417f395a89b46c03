"""Terminals that are narrow, change their size or close, and signals to the driver."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from contextlib import contextmanager, suppress

import pytest
from runs import alive, children_of, command, finished, heed_signals, rows, until, wait_for

SLOW_CELL = ("--methods", "map,hang", "--splits", "0", "--out", "r")  # one cell ends, the other does not


def begin() -> None:
    """Prepare a process that is the leader of its terminal."""
    heed_signals()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(environment, folder, *arguments):
    """A run that is the leader of a new terminal of 80 columns, and the terminal's other end."""
    ours, theirs = pty.openpty()
    resize(ours, 80)
    without_width = {name: value for name, value in environment.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=without_width | {"TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=begin,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()


def resize(descriptor: int, columns: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def read(descriptor: int) -> str:
    """All that is printed until the other end closes, which Linux reports as an error."""
    printed = b""
    with suppress(OSError):
        while chunk := os.read(descriptor, 1 << 16):
            printed += chunk
    return printed.decode(errors="replace")


@pytest.mark.slow
def test_runs_work_in_narrow_and_resized_terminals(environment, tmp_path):
    arguments = ("--methods", "map", "--splits", "0-1", "--workers", "1", "--out", "r")
    with terminal(environment, tmp_path, *arguments) as (process, ours):
        resize(ours, 20)  # the kernel sends SIGWINCH
        said = os.read(ours, 1 << 16).decode(errors="replace")
        resize(ours, 1)
        said += os.read(ours, 1 << 16).decode(errors="replace")
        resize(ours, 20)
        said += read(ours)
        os.close(ours)
        assert process.wait(300) == 0, said
    assert "Traceback" not in said
    assert (rows(tmp_path / "r")["status"] == "ok").tolist() == [True, True]


@pytest.mark.slow
def test_closing_the_terminal_ends_run_and_workers(environment, tmp_path):
    with terminal(environment, tmp_path, *SLOW_CELL) as (process, ours):
        wait_for(lambda: finished(tmp_path / "r") == 1 or process.poll() is not None)
        started = children_of(process.pid)
        os.close(ours)  # the kernel sends SIGHUP, and nothing more can be printed
        assert process.wait(300) == 128 + signal.SIGHUP
    wait_for(lambda: not alive(started))
    assert rows(tmp_path / "r")[["method", "status"]].values.tolist() == [["map", "ok"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGQUIT", "SIGTERM"])
def test_signal_keeps_finished_cells_and_ends_workers(start, tmp_path, name):
    with start(*SLOW_CELL) as process:
        until("diabetes/map", process.stderr)  # its file is there a moment before the cell counts as finished
        started = children_of(process.pid)
        process.send_signal(signal.Signals[name])
        errors = process.communicate(timeout=300)[1]
    assert process.returncode == 128 + signal.Signals[name], errors
    assert "dropped diabetes hang split 0. 1 of 2 cells finished" in errors
    assert f"Stopped: by {name}. What was finished before is kept in r" in errors
    assert "Traceback" not in errors
    wait_for(lambda: not alive(started))
    assert rows(tmp_path / "r")[["method", "status"]].values.tolist() == [["map", "ok"]]
