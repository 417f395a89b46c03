"""Simulated workers, which train nothing: each returns the stored result of a trivial cell after a given time."""

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from benchmarks.trivial import trivial_cells
from lockstep_bench.bench.console.runner import run
from lockstep_bench.bench.execution.run import run as run_job
from lockstep_bench.bench.execution.scheduler import LocalBackend
from lockstep_bench.bench.execution.workers import Worker, workers_on
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.bench.results.record import CellResult


class Simulated(NamedTuple):
    """Measurements of a run whose workers are simulated.

    Attributes:
        seconds: time from the beginning of the first job until the last result was stored.
        computing: CPU time of the main process in this period, seconds.
        most_at_once: largest number of jobs that ran at a time.
    """

    seconds: float
    computing: float
    most_at_once: int


class SimulatedWorkers(LocalBackend):
    """Backend whose workers wait `seconds` for each job instead of computing.

    Args:
        workers: the workers.
        results: pickled result of each cell, by the cell's key.
        seconds: duration of each job.

    Attributes:
        most_at_once: the most jobs that ran at a time.
    """

    def __init__(self, workers: Sequence[Worker], results: Mapping[str, bytes], seconds: float):
        super().__init__(workers)
        self._results, self._seconds = results, seconds
        self._lock, self._running = Lock(), 0
        self.most_at_once = 0

    def run(self, job: Job, worker: Worker, timeout: float | None, on_progress: OnProgress) -> list[CellResult]:
        """Wait for the duration of a job, and return its stored results."""
        with self._lock:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        time.sleep(self._seconds)
        with self._lock:
            self._running -= 1
        return [pickle.loads(self._results[cell.key]) for cell in job.cells]


def simulate(folder: Path, count: int, n_workers: int, seconds: float) -> Simulated:
    """Run `count` trivial cells on `n_workers` workers that take `seconds` for each, and store them in a folder."""
    cells = trivial_cells(count)
    (trained,) = run_job(Job((cells[0],), (folder / "study.json",), None))
    results = {}
    for cell in cells:
        result = replace(trained, cell=cell, exclusive=False)
        _ = result.files  # made by the worker
        results[cell.key] = pickle.dumps(result)
    backend = SimulatedWorkers(workers_on(["cpu"], n_workers), results, seconds)
    jobs = [Job((cell,), (folder / f"{cell.key}.json",), None) for cell in cells]
    started, computing = time.perf_counter(), time.process_time()
    run(Results(folder / "results"), jobs, backend)
    spent, computing = time.perf_counter() - started, time.process_time() - computing
    return Simulated(spent, computing, backend.most_at_once)
