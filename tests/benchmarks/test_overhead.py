"""The measurement of overhead measures something; how much is never asserted."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from benchmarks.overhead import app


@pytest.mark.slow
def test_scan_benchmark_finds_its_cells_and_prints_times():
    done = CliRunner().invoke(app, ["--scan", "500"])
    assert done.exit_code == 0, done.output
    cost = r"\d+\.\d s, \d+\.\d s of computing, \d+ MiB at most"
    assert re.search(rf"^500 finished cells: {cost}; the first time, {cost}$", done.output)


def test_job_overhead_is_printed_by_component():
    done = CliRunner().invoke(app, ["--jobs", "3", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert re.search(r"^3 jobs of \d+ ms on 1 workers in .* workers waited", done.output)
    shares = dict(re.findall(r"(workers waited|to schedule|to store) (-?[\d.]+)%", done.output))
    assert set(shares) == {"workers waited", "to schedule", "to store"}
    assert float(shares["to schedule"]) >= 0
    assert float(shares["to store"]) >= 0


@pytest.mark.slow
def test_four_hundred_workers_are_all_busy():
    done = CliRunner().invoke(app, ["--store", "450"])
    assert done.exit_code == 0, done.output
    assert re.search(
        r"^450 cells of 400 simulated workers, at most 400 at work at a time, stored in", done.output, re.M
    )


def test_overhead_command_without_options_is_refused():
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 2
    assert "--jobs 1000, --store 5000, --scan 10000" in " ".join(done.output.replace("│", " ").split())


@pytest.mark.slow
def test_leaderboard_commands_are_timed_on_made_up_rows():
    done = CliRunner().invoke(app, ["--rows", "500"])
    assert done.exit_code == 0, done.output
    assert re.search(r"^500 rows: 1 methods, 25 data sets, 20 splits$", done.output, re.MULTILINE)
    for name in ("resume", "build", "export", "rank", "build with ten rows more"):
        assert re.search(rf"^{name}: \d+\.\d s, \d+\.\d s of computing, \d+ MiB at most$", done.output, re.MULTILINE)
    assert re.search(r"^largest of \d+ pages: \S+\.html, 0\.\d+ MB$", done.output, re.MULTILINE)


def test_dry_run_is_timed_on_made_up_data_sets():
    done = CliRunner().invoke(app, ["--plan", "4000"])
    assert done.exit_code == 0, done.output
    cost = r"\d+\.\d s, \d+\.\d s of computing, \d+ MiB at most"
    assert re.search(rf"^plan of 4000 cells \(2 methods, 100 data sets\): {cost}$", done.output)


@pytest.mark.slow
def test_100_000_rows_keep_memory_and_pages_bounded():
    """Bounds only on size: 1 GB for the pages, 1 MB for each, and 300 MB to resume a run."""
    # In a process of its own: the peak memory of a process is at least that of the one which started it.
    command = [sys.executable, "-m", "benchmarks.overhead", "--rows", "100000"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    mib = {name: int(size) for name, size in re.findall(r"^(\w+): .* (\d+) MiB at most$", printed, re.MULTILINE)}
    assert mib["build"] * 2**20 < 1e9
    assert mib["resume"] * 2**20 < 300e6
    assert re.search(r"^largest of \d+ pages: \S+\.html, 0\.\d+ MB$", printed, re.MULTILINE)
