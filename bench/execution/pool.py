"""The processes of workers, and the running of a job in one of them."""

import time
import traceback
from dataclasses import replace
from threading import Lock
from typing import Any

from lockstep_bench.bench.evaluation.tuning.storing import StudyNotStored
from lockstep_bench.bench.execution.calls import ready, run
from lockstep_bench.bench.execution.returned import result_of_lost_process
from lockstep_bench.bench.execution.spare_process import Spare
from lockstep_bench.bench.execution.supervisor import Died, Stopped, Supervised, Timeout
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.results.record import CellResult, Outcome, class_name
from lockstep_bench.bench.results.storage import NotStored

STARTS = 3
START_SECONDS = 600  # importing torch from a busy network drive takes minutes


class NoProcess(RuntimeError):
    """No process of a worker starts: several ended before they got a job. This is not a failure of any cell."""


class Pool:
    """The processes of workers. A process starts when its worker first runs a job, and again if it has ended.

    Args:
        spare: A process that was started in advance, for the first worker with its environment variables; None for
            none.
    """

    def __init__(self, spare: Spare | None = None) -> None:
        self._spare = spare or Spare()
        self._processes: dict[Worker, Supervised] = {}
        self._devices: dict[Worker, str] = {}
        self._lock, self._ended = Lock(), False

    def process_of(self, worker: Worker) -> tuple[Supervised, str]:
        """Return the worker's process, and the name of its device.

        Raises:
            NoProcess: The process cannot start.
            Stopped: The pool has ended.
        """
        process = self._processes.get(worker)
        if process is None or not process.alive:
            process = self._start(worker)
        return process, self._devices[worker]

    def dismiss(self, worker: Worker) -> None:
        """Kill the worker's process and thereby stop its job. The worker's next job gets a new process."""
        if process := self._processes.get(worker):
            process.end()

    def end(self) -> None:
        """Kill all processes and thereby stop their jobs; no other process starts afterwards."""
        with self._lock:
            self._ended = True
        for process in self._processes.values():
            process.end()

    def _start(self, worker: Worker) -> Supervised:
        for _ in range(STARTS):
            with self._lock:
                if self._ended:
                    raise Stopped
                process = self._processes[worker] = self._spare.process_of(worker.environment)
            try:
                self._devices[worker] = process.call(ready, worker.device, worker.threads, limit=START_SECONDS)
                return process
            except (Died, Timeout) as problem:
                reason = f"{problem}\n{process.log()}"
        raise NoProcess(f"{STARTS} processes of the worker {worker.name!r} ended before they could begin: {reason}")


def run_on_worker(
    job: Job,
    worker: Worker,
    pool: Pool,
    timeout: float | None = None,
    on_progress: OnProgress = lambda progress: None,
) -> list[CellResult]:
    """Run a job once in a worker's process, and return the result of each cell.

    If the status of a cell is not "ok", the process is ended, and the worker's next job gets a new one.

    Args:
        job: The job.
        worker: The worker.
        pool: The pool that holds the worker's process.
        timeout: Wall-clock seconds per cell; the whole job may take this times its number of cells. None for no limit.
        on_progress: Called now and then with the progress of the job.

    Raises:
        NoProcess: The worker's process cannot be started.
        Stopped: The pool was ended.
        NotStored: No more results can be stored, for example because the disk is full.
    """
    limit = None if timeout is None else timeout * len(job.cells)
    exclusive = worker.exclusive and len(job.cells) == 1
    process, device = pool.process_of(worker)
    started = time.perf_counter()
    try:
        returned = process.call(run, job, worker.device, exclusive, limit=limit, on_progress=on_progress)
        results = _checked(returned, job)
    except StudyNotStored as problem:
        raise NotStored(job.cells, problem) from problem
    except Stopped:
        raise
    except Exception as problem:  # `run` turns what methods raise into results, but they can break `run` as well
        outcome, seconds = _outcome_of(problem, job, limit), time.perf_counter() - started
        results = [result_of_lost_process(cell, device, outcome, seconds) for cell in job.cells]
    log = None
    if any(result.status != "ok" for result in results):
        process.end()
        log = process.log()
    return [result if result.status == "ok" else replace(result, exclusive=exclusive, log=log) for result in results]


def _checked(results: Any, job: Job) -> list[CellResult]:
    """Return what a process returned if these are the results of the job's cells."""
    known = isinstance(results, list) and all(isinstance(result, CellResult) for result in results)
    if known and [result.cell for result in results] == list(job.cells):
        return list(results)
    raise TypeError("its process returned something else than the results of these cells")


def _outcome_of(problem: Exception, job: Job, limit: float | None) -> Outcome:
    if isinstance(problem, Died):
        return Outcome(status="failed", error=str(problem), error_class=problem.name)
    if isinstance(problem, Timeout):
        cells = f" for {len(job.cells)} cells" if len(job.cells) > 1 else ""
        error = f"not done after {limit:g} seconds, the time limit{cells}"
        return Outcome(status="timeout", error=error, error_class="Timeout")
    error = "".join(traceback.format_exception_only(problem))
    return Outcome(status="failed", error=error, error_class=class_name(problem))
