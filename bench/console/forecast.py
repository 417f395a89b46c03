"""Output of a dry run: the plan, and how long it may take."""

import heapq
from collections.abc import Sequence
from math import inf
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from lockstep_bench.bench.costs.batching import MIB
from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.estimates import BASES, UNSURE
from lockstep_bench.bench.costs.workload import Measure, PlannedJob, Workload
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell

LONGEST = 3  # jobs that are named
PATIENCE_SECONDS = 20  # for probes; they are kept, and the next dry run makes those that are left
START_SECONDS = 4  # until a worker's process has imported what it needs; measured: 3 to 6


def measuring(console: Console, data_dir: Path | None, seconds: float = inf) -> Measure:
    """Return a function that measures costs by short trainings (probes), under a progress bar.

    `bench.costs.workload.workload` calls it.

    Args:
        console: console on which the bar is shown.
        data_dir: data folder; None for the default.
        seconds: time in seconds after which no further probe begins.
    """

    def measure(calibrations: Calibrations, cells: Sequence[Cell], workers: Sequence[Worker]) -> None:
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task("probing how long methods take", total=len(cells))
            calibrations.measure(cells, workers, data_dir, lambda: progress.advance(bar), seconds)

    return measure


def show(console: Console, load: Workload) -> None:
    """Print the forecast: a line for each data set, the longest jobs, the worker processes, and the total time."""
    table = Table(box=None)
    for heading in ("data set", "cells", "jobs", "time", "memory", "basis of the time"):
        table.add_column(heading, justify="right" if heading in ("cells", "jobs", "time", "memory") else "left")
    by_dataset: dict[str, list[PlannedJob]] = {}
    for job in load.planned:
        by_dataset.setdefault(job.cells[0].dataset, []).append(job)
    for name, jobs in by_dataset.items():
        table.add_row(*map(escape, _line(name, jobs)))
    console.print(table)
    workers, each = load.workers, ""
    if load.free_bytes is not None:
        n_devices = len({worker.gpu for worker in workers})
        each = f"; a thread and {_mib(load.free_bytes * n_devices // len(workers))} of free memory for each"
    names = ", ".join(worker.name for worker in workers)
    console.print(f"{len(workers)} worker(s): {escape(names)}{each}", soft_wrap=True)
    known = [job for job in load.planned if job.estimate.basis not in UNSURE]
    if unknown := len(load.planned) - len(known):
        console.print(
            f"Time unknown for {unknown} job(s): their methods have not run on these data sets on this machine; "
            "another dry run measures more of them",
            soft_wrap=True,
        )
    if known:
        seconds = [job.estimate.seconds for job in known]
        by_length = sorted(known, key=lambda job: -job.estimate.seconds)
        longest = ", ".join(f"{_name(job)} {duration(job.estimate.seconds)}" for job in by_length[:LONGEST])
        console.print(f"Longest jobs: {escape(longest)}", soft_wrap=True)
        in_all = duration(makespan(seconds, len(workers)))
        rest = " without these" if unknown else ""
        console.print(f"About [bold]{in_all}[/] in all{rest}, {duration(sum(seconds))} of work")


def makespan(seconds: Sequence[float], n_workers: int) -> float:
    """Return the seconds until the last job ends, if each job starts, in order, on the first free worker.

    `seconds` are the jobs' durations. The result is 0 without jobs.
    """
    if not seconds:
        return 0.0
    free = [float(START_SECONDS)] * n_workers
    for length in seconds:
        heapq.heapreplace(free, free[0] + length)
    return max(free)


def duration(seconds: float) -> str:
    """Return a duration as text in its largest two units: "3.4 s", "4 min 5 s", "2 h 3 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _line(dataset: str, jobs: Sequence[PlannedJob]) -> tuple[str, ...]:
    """Return the table's line for the jobs of a data set; its memory is that of the largest job."""
    estimates = [job.estimate for job in jobs]
    sizes = [estimate.bytes for estimate in estimates if estimate.bytes is not None]
    bases = {estimate.basis for estimate in estimates}
    return (
        dataset,
        str(sum(len(job.cells) for job in jobs)),
        str(len(jobs)),
        "unknown" if bases & UNSURE else duration(sum(estimate.seconds for estimate in estimates)),
        _mib(max(sizes)) if sizes else "?",
        ", ".join(basis for basis in BASES if basis in bases),
    )


def _mib(size: float) -> str:
    return f"{size / MIB:,.0f} MiB"


def _name(job: PlannedJob) -> str:
    first = job.cells[0]
    splits = f"split {first.split}" if len(job.cells) == 1 else f"{len(job.cells)} splits"
    return f"{first.dataset} {first.method} ({splits})"
