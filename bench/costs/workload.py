"""Planning of a run's work: the workers, and the jobs in the order in which they begin."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lockstep_bench.bench.costs.batching import ROOM, batches, rows_of, stack_rows, workers_per_device
from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.estimates import GUESSED, SECONDS_PER_WORK, CostEstimate, Estimates
from lockstep_bench.bench.environment.machine import this_machine
from lockstep_bench.bench.environment.provenance import host
from lockstep_bench.bench.execution.workers import Worker, workers_on
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job

FIRST_LOOK_SECONDS = 60

# Probes cells; takes the calibrations that keep the costs, the cells, and the workers that run the probes.
Measure = Callable[[Calibrations, Sequence[Cell], Sequence[Worker]], None]


class PlannedJob(NamedTuple):
    """A job that has not begun, with its estimated cost.

    Attributes:
        cells: cells of the job, which differ only in their split.
        rows: largest number of replicas in a stack.
        estimate: estimated time and memory.
    """

    cells: tuple[Cell, ...]
    rows: int
    estimate: CostEstimate


class Workload(NamedTuple):
    """The work of a run: its workers and its jobs.

    Attributes:
        workers: the workers.
        planned: the jobs in the order in which they begin.
        free_bytes: free memory of the device that has the least; None if unknown.
    """

    workers: list[Worker]
    planned: list[PlannedJob]
    free_bytes: int | None

    @property
    def weights(self) -> dict[Cell, float]:
        """Estimated duration of each cell, seconds."""
        return {cell: job.estimate.seconds / len(job.cells) for job in self.planned for cell in job.cells}

    def warmed_up(self) -> Workload:
        """Return the workload with a warm-up job in front for every worker: the shortest job, with other seeds.

        A process imports and compiles only once. After the warm-up, this does not lengthen the times of later jobs.
        """
        shortest = min(self.planned, key=lambda job: job.estimate.seconds)
        first = [
            shortest._replace(cells=tuple(replace(cell, seed=cell.seed + 1 + number) for cell in shortest.cells))
            for number in range(len(self.workers))
        ]
        return self._replace(planned=first + self.planned)

    def jobs(self, journal: Callable[[Cell], Path], data_dir: Path | None, validated: bool = False) -> list[Job]:
        """Return the jobs as workers run them.

        Args:
            journal: function that returns the path of a cell's Optuna study.
            data_dir: data folder; None for the default.
            validated: see `Job`.
        """
        return [Job(job.cells, tuple(map(journal, job.cells)), data_dir, job.rows, validated) for job in self.planned]


class Surroundings(NamedTuple):
    """The devices of a run and what is free on them.

    Attributes:
        devices: torch's names of the devices, which are all of one kind.
        name: name of the first device, as in result rows.
        cores: CPU cores for the workers of each device.
        free_bytes: free memory of the device that has the least of it.
    """

    devices: tuple[str, ...]
    name: str
    cores: int
    free_bytes: int

    @property
    def kind(self) -> str:
        """Kind of device: "cpu" or "cuda"."""
        return self.devices[0].partition(":")[0]


def surroundings(devices: Sequence[str]) -> Surroundings:
    """Return the devices with their cores and the memory that is free now.

    A GPU is queried by a child process, because the query takes memory of the GPU until its process ends.
    """
    machine = this_machine()
    if list(devices) == ["cpu"]:
        return Surroundings(("cpu",), "cpu", machine.cores, machine.free_bytes)
    surveys = [_survey(worker) for worker in workers_on(devices, 1)]
    cores = max(1, machine.cores // len(devices))
    return Surroundings(tuple(devices), surveys[0][0], cores, min(free for _, free in surveys))


def _survey(worker: Worker) -> tuple[str, int]:
    from lockstep_bench.bench.costs.probe import survey
    from lockstep_bench.bench.execution.supervisor import Supervised

    child = Supervised(worker.environment)
    try:
        name_and_free_bytes: tuple[str, int] = child.call(survey, worker.device)
        return name_and_free_bytes
    finally:
        child.end()


def workload(
    todo: Sequence[Cell],
    around: Surroundings,
    rows: pd.DataFrame,
    *,
    each: int | None = None,
    measure: Measure | None = None,
    calibrations: Calibrations | None = None,
) -> Workload:
    """Return the workers and jobs of a run on this machine, with the estimated time and memory of each job.

    Args:
        todo: cells to run; a cell is one method on one split of a data set.
        around: devices of the run.
        rows: earlier results (`Results.rows`), from whose times jobs are estimated.
        each: number of workers on every device; None for as many as cores and memory allow.
        measure: function that measures the cost of cells by short trainings (probes); None to measure none.
        calibrations: costs that earlier probes measured; None for those in the user's cache folder.
    """
    kind = around.kind
    calibrations = calibrations or Calibrations(workers_on(around.devices, 1)[0])
    estimates = Estimates(todo, rows, calibrations, host(), around.name)
    if measure and (unknown := estimates.worth_probing(memory=kind == "cuda")):
        at_once = workers_per_device(kind, around.free_bytes, around.cores, []) if kind == "cpu" else 1
        measure(calibrations, unknown, workers_on(around.devices, at_once))
    if each is None:
        sorts = {(cell.dataset, cell.method, cell.protocol.hash): cell for cell in todo}.values()
        needs = [(estimates.need(cell), max(1, rows_of(cell))) for cell in sorts]
        each = workers_per_device(kind, around.free_bytes, around.cores, needs)
    workers, share = workers_on(around.devices, each), around.free_bytes // each

    def most(cell: Cell) -> int:
        return stack_rows(kind, share, estimates.need(cell))

    jobs = []
    for batch in batches(todo, kind, len(workers), most):
        most_rows = most(batch[0])
        jobs.append(PlannedJob(batch, most_rows, estimates.of(batch, most_rows)))
    return Workload(workers, _in_order(jobs, len(workers)), around.free_bytes)


def workload_elsewhere(todo: Sequence[Cell], workers: Sequence[Worker]) -> Workload:
    """Plan the jobs of a run on workers of other machines, whose speed and memory are unknown."""
    kind = workers[0].device
    rows = ROOM[kind].rows
    jobs = [
        PlannedJob(batch, rows, CostEstimate(SECONDS_PER_WORK * sum(cell.work for cell in batch), None, GUESSED))
        for batch in batches(todo, kind, len(workers), lambda cell: rows)
    ]
    return Workload(list(workers), _in_order(jobs, len(workers)), None)


def _in_order(jobs: list[PlannedJob], n_workers: int) -> list[PlannedJob]:
    """Return the jobs in the order in which they begin.

    The shortest jobs come first, as many as take `FIRST_LOOK_SECONDS`, so that there are soon results to look at. The
    others follow, the longest first, so that all workers end at about the same time.
    """
    cheapest = sorted(jobs, key=lambda job: job.estimate.seconds)
    ends = list(accumulate(job.estimate.seconds for job in cheapest))
    n_first = bisect_right(ends, FIRST_LOOK_SECONDS * n_workers)
    return cheapest[:n_first] + sorted(cheapest[n_first:], key=lambda job: -job.estimate.seconds)
