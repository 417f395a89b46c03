"""A benchmark run without training, for a test that kills it and its workers at random: `python soak.py OUT COUNT`.

Scheduling, processes, progress, storing and resuming are those of a real run. The numbers of a cell are computed from
its key. Now and then a worker, or the process that guards it, kills itself during the first attempt at a job; the
second attempt succeeds.
"""

import os
import signal
import sys
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from random import Random
from threading import Lock

import psutil

from benchmarks.trivial import trivial_cells
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.record import CellResult, Outcome, Provenance

KILLED = 0.01  # share of the jobs
SAMPLES = "memory.txt"  # in OUT: lines of the cells that this driver has stored, and its resident bytes
WHERE_FROM = Provenance(
    code_revision="soak", versions="{}", device="cpu", host="soak", finished_at=datetime(2026, 1, 1, tzinfo=UTC)
)


def result_of(cell: Cell) -> CellResult:
    """Return the result that an uninterrupted run stores for a cell."""
    numbers = Random(cell.key)
    outcome = Outcome(status="ok", metrics={"nmll": numbers.gauss(), "rmse": numbers.random()})
    seconds = numbers.random()
    return CellResult(cell=cell, outcome=outcome, provenance=WHERE_FROM, elapsed_seconds=seconds, exclusive=False)


def ready(device: str, threads: int, *, on_progress) -> str:
    """Replace `bench.execution.run.ready`, which would import torch."""
    return device


def run(job: Job, device: str, exclusive: bool, *, on_progress) -> list[CellResult]:
    """Replace `bench.execution.run.run`, which would train: return made-up results of the job's cells."""
    seed = job.cells[0].seed
    chance, tried = Random(seed), job.journals[0].parent / f"tried-{seed}"
    victim = chance.choice([os.getpid(), os.getppid()])
    if chance.random() < KILLED and not tried.exists():
        tried.parent.mkdir(parents=True, exist_ok=True)
        tried.touch()
        os.kill(victim, signal.SIGKILL)
        signal.pause()  # until the guardian's death ends this process too
    return [result_of(cell) for cell in job.cells]


def main(out: Path, count: int) -> None:
    """Run those of `count` cells that the results folder `out` lacks."""
    import soak  # by the name that the workers know

    from lockstep_bench.bench.console import runner
    from lockstep_bench.bench.console.endings import stops
    from lockstep_bench.bench.execution import pool
    from lockstep_bench.bench.execution.workers import workers_on
    from lockstep_bench.bench.results.folder import Results
    from lockstep_bench.bench.results.lock import locked

    pool.ready, pool.run = soak.ready, soak.run
    os.fsync = lambda descriptor: None  # processes are killed, not the machine
    with stops(out), locked(out):
        results = Results(out)
        results.mend()
        todo = [cell for cell in trivial_cells(count) if not results.has(cell)]
        jobs = [
            Job(cells, tuple(map(results.journal, cells)), None)
            for cells in (tuple(group) for _, group in groupby(todo, lambda cell: cell.seed))
        ]
        runner.run(_Sampled(results, max(1, count // 100)), jobs, workers_on(["cpu"], 2))


class _Sampled:
    """Passes cells on and records the memory of this process after every `each` cells."""

    def __init__(self, results, each: int):
        self._results, self._each, self._n_stored = results, each, 0
        self._counting = Lock()

    def write(self, result: CellResult) -> None:
        self._results.write(result)
        with self._counting:
            self._n_stored += 1
            if self._n_stored % self._each == 0:
                with (self._results.out / SAMPLES).open("a") as samples:
                    samples.write(f"{self._n_stored} {psutil.Process().memory_info().rss}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
