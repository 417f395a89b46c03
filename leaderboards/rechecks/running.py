"""Repetition of a stored result by a call of `run_all.py`, in a temporary folder."""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

from lockstep_bench.leaderboards.data.fingerprints import CELL
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.replications.rows import canonical
from lockstep_bench.leaderboards.wording.commands import command
from lockstep_bench.shared.papers.entries import SUITE as PAPERS
from lockstep_bench.shared.papers.entries import entries

Row = dict[str, Any]  # columns of `shared.schema.CELLS`


class NotRun(Exception):
    """Raised if a command gave no result; the message contains the end of its output."""


def words(row: Row) -> list[str]:
    """Return the arguments of `run_all.py` that repeat a result: tuning and final fit, under the same protocol."""
    for entry in entries():
        if row["preset"] == entry.name:
            names = {name for run in entry.runs for name in run.methods if canonical(name) == canonical(row["method"])}
            chosen = ["--datasets", row["dataset"], "--methods", ",".join(sorted(names)), "--splits", str(row["split"])]
            return ["--suite", PAPERS, "--preset", entry.name, *chosen, "--seed", str(row["seed"])]
    where = (row["suite"], row["dataset"], row["method"], [row["split"]], row["preset"], row["protocol"], row["seed"])
    _, _, *arguments = shlex.split(command(*where))
    return arguments


def run_again(row: Row) -> Row:
    """Run the result of a stored row again, and return the new row.

    Raises:
        NotRun: The command gave no row.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-m", "lockstep_bench", "run", *words(row), "--workers", "1", "--out", folder]
        ended = subprocess.run(run, capture_output=True, text=True, encoding="utf-8", errors="replace")
        rows = cast("list[Row]", read_results(Path(folder), cached=False).rows.to_dict("records"))
    for new in rows:
        if all(new[name] == row[name] for name in CELL):
            return new
    said = [line for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
    raise NotRun(said[-1].strip() if said else f"exit code {ended.returncode}")
