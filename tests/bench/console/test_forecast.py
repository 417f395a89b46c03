"""Output of a dry run."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from lockstep_bench.bench.console.forecast import START_SECONDS, duration, makespan, show
from lockstep_bench.bench.costs.batching import MIB
from lockstep_bench.bench.costs.estimates import EARLIER, GUESSED, RELATED, CostEstimate
from lockstep_bench.bench.costs.workload import PlannedJob, Workload
from lockstep_bench.bench.execution.workers import workers_on
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol

YACHT, BOSTON = (Cell("uci", name, "map", 0, "p", Protocol(), 0) for name in ("yacht", "boston"))


@pytest.mark.parametrize(
    ("seconds", "workers", "end"),
    [
        ([], 2, 0.0),
        ([3.0], 2, 3.0),
        ([5, 4, 3, 3, 3], 2, 10),  # 5 and 3 on one worker; 4, 3 and 3 on the other
        ([5, 4, 3, 3, 3], 1, 18),
        ([5, 4, 3, 3, 3], 9, 5),
        ([1, 1, 1, 9], 2, 10),  # the order is kept
        ([9, 1, 1, 1], 2, 9),
    ],
)
def test_forecast_gives_jobs_to_the_first_free_worker(seconds, workers, end):
    assert makespan(seconds, workers) == (end + START_SECONDS if seconds else 0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (605, "10 min 5 s"),
        (3600, "1 h 0 min"),
        (90061, "25 h 1 min"),
    ],
)
def test_durations_are_printed_in_their_largest_units(seconds, text):
    assert duration(seconds) == text


def shown(*planned: PlannedJob) -> str:
    console = Console(file=io.StringIO(), width=200)
    show(console, Workload(workers_on(["cpu"], 2), list(planned), 4096 * MIB))
    return console.file.getvalue()


def test_dry_run_prints_estimates_workers_and_total_time():
    pair = (YACHT, replace(YACHT, split=1))
    text = shown(
        PlannedJob(pair, 150, CostEstimate(70.0, 512 * MIB, EARLIER)),
        PlannedJob((BOSTON,), 150, CostEstimate(30.0, None, RELATED)),
        PlannedJob((replace(YACHT, method="vifa"),), 150, CostEstimate(2.0, 50 * MIB, GUESSED)),
    )
    lines = {line.split()[0]: " ".join(line.split()) for line in text.splitlines()}
    assert lines["yacht"] == "yacht 3 2 unknown 512 MiB earlier runs, unknown"
    assert lines["boston"] == "boston 1 1 unknown ? other data sets"
    assert lines["2"] == "2 worker(s): cpu 0, cpu 1; a thread and 2,048 MiB of free memory for each"
    longest = "Longest jobs: yacht map (2 splits) 1 min 10 s"
    assert lines["Longest"] == longest
    assert lines["About"] == f"About {duration(70 + START_SECONDS)} in all without these, 1 min 10 s of work"


def test_empty_plan_takes_no_time():
    assert "About" not in shown()
