"""Workers that train nothing: each returns the result of a trivial cell after a while, as a worker's process would."""

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
    """Measurements of a driver with simulated workers.

    Attributes:
        seconds: from the first job's begin to the last cell on the disk.
        computing: seconds of the driver's computing time meanwhile.
        most_at_once: the most jobs that ran at a time.
    """

    seconds: float
    computing: float
    most_at_once: int


class SimulatedWorkers(LocalBackend):
    """A backend whose workers take `seconds` for a job, and compute nothing.

    Args:
        workers: the workers.
        results: pickled result of each cell, by its key, as it comes from a worker's process.
        seconds: duration of a job.

    Attributes:
        most_at_once: the most jobs that ran at a time.
    """

    def __init__(self, workers: Sequence[Worker], results: Mapping[str, bytes], seconds: float):
        super().__init__(workers)
        self._results, self._seconds = results, seconds
        self._lock, self._running = Lock(), 0
        self.most_at_once = 0

    def run(self, job: Job, worker: Worker, timeout: float | None, on_progress: OnProgress) -> list[CellResult]:
        """Return the results of a job after the seconds that it takes."""
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
