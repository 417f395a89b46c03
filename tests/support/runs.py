"""Helpers for tests that start `run_all.py` in a separate process, and inspect its results, processes and output."""

import signal
import sys
import time
from pathlib import Path
from typing import TextIO

import pandas as pd
import psutil

from lockstep_bench.shared.schema import COSTS

ROOT = Path(__file__).resolve().parents[2]
BUDGET = ("--trials", "2", "--folds", "2", "--epochs", "2", "--workers", "2")
TIMES = (*(name for name in COSTS if "seconds" in name or "memory" in name), "elapsed_seconds", "finished_at")


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of a very short `run_all.py` run, on the diabetes data unless a table is given."""
    data = () if "--csv" in arguments else ("--datasets", "diabetes")
    return [sys.executable, str(ROOT / "run_all.py"), *BUDGET, *data, *map(str, arguments)]


def heed_signals() -> None:
    """Restore the default handling of signals that a shell in the background, or `nohup`, makes tests ignore."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        signal.signal(signal.Signals[name], signal.SIG_DFL)


def rows(out: Path) -> pd.DataFrame:
    """Return the stored result rows, sorted, without the columns of times and memory, which differ between runs."""
    cells = pd.read_parquet(out / "cells").drop(columns=list(TIMES))
    return cells.sort_values(["dataset", "method", "split"]).reset_index(drop=True)


def finished(out: Path) -> int:
    """Return the number of finished cells in a results folder."""
    return sum(not path.name.startswith(".") for path in (out / "cells").rglob("*.parquet"))


def wait_for(what, seconds: float = 300) -> None:
    """Wait until `what()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until(words: str, stream: TextIO) -> str:
    """Read a stream up to the first line that contains `words`, return the lines, and fail if no line does."""
    said = ""
    for line in stream:
        said += line
        if words in line:
            return said
    raise AssertionError(said)


def children_of(pid: int) -> list[psutil.Process]:
    """Return the descendants of a process; none if it has ended."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those of the given processes that have not ended."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
