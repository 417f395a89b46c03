"""One try of a job on a slot, which ends with an outcome of every cell whatever becomes of the process."""

import time
from dataclasses import replace
from threading import Lock

from bench.execution.run import ready, result_of_lost_process, run
from bench.execution.supervisor import Died, Overdue, Stopped, Supervised
from bench.execution.workers import Slot
from bench.experiment.jobs import Job
from bench.experiment.progress import Tell
from bench.results.record import CellResult, Outcome
from bench.results.storage import NotStored

STARTS = 3
START_SECONDS = 600  # importing torch from a busy network drive takes minutes


class NoProcess(RuntimeError):
    """Processes of a slot end again and again before they are given anything, which is no cell's fault."""


class Crew:
    """The processes of slots, each started when it is first needed, and again after it has ended."""

    def __init__(self):
        self._processes: dict[Slot, Supervised] = {}
        self._devices: dict[Slot, str] = {}
        self._lock, self._ended = Lock(), False

    def of(self, slot: Slot) -> tuple[Supervised, str]:
        """The slot's process, and the name of its device. Raises `NoProcess`, or `Stopped` when the crew has ended."""
        process = self._processes.get(slot)
        if process is None or not process.alive:
            process = self._start(slot)
        return process, self._devices[slot]

    def dismiss(self, slot: Slot) -> None:
        """End the slot's process, which stops its call; the slot's next job gets a new one."""
        if process := self._processes.get(slot):
            process.end()

    def end(self) -> None:
        """End all processes, which stops their calls, and start no other."""
        with self._lock:
            self._ended = True
        for process in self._processes.values():
            process.end()

    def _start(self, slot: Slot) -> Supervised:
        for _ in range(STARTS):
            with self._lock:
                if self._ended:
                    raise Stopped
                process = self._processes[slot] = Supervised(slot.environment)
            try:
                self._devices[slot] = process.call(ready, slot.device, slot.threads, limit=START_SECONDS)
                return process
            except (Died, Overdue) as problem:
                why = f"{problem}\n{process.log()}"
        raise NoProcess(f"{STARTS} processes for the slot {slot.name!r} ended before they could begin: {why}")


def attempt(
    job: Job, slot: Slot, crew: Crew, timeout: float | None = None, tell: Tell = lambda told: None
) -> list[CellResult]:
    """An outcome of each of the job's cells; the next job gets a new process unless all are "ok".

    Args:
        crew: has the slot's process.
        timeout: wall-clock seconds for each cell; cells side by side have the sum of theirs.
        tell: is called now and then with how far the job is.

    Raises `NoProcess`, `Stopped` or `bench.results.storage.NotStored`.
    """
    limit = None if timeout is None else timeout * len(job.cells)
    process, device = crew.of(slot)
    started = time.perf_counter()
    try:
        results = process.call(run, job, slot.device, limit=limit, tell=tell)
    except (Died, Overdue) as problem:
        outcome, seconds = _outcome_of(problem, job, limit), time.perf_counter() - started
        results = [result_of_lost_process(cell, device, outcome, seconds) for cell in job.cells]
    except OSError as problem:
        raise NotStored(job.cells, problem) from problem
    log = None
    if any(result.status != "ok" for result in results):
        process.end()
        log = process.log()
    exclusive = slot.exclusive and len(job.cells) == 1
    return [replace(result, exclusive=exclusive, log=None if result.status == "ok" else log) for result in results]


def _outcome_of(problem: Died | Overdue, job: Job, limit: float | None) -> Outcome:
    if isinstance(problem, Died):
        return Outcome(status="failed", error=str(problem), error_class=problem.name)
    cells = f" for {len(job.cells)} cells" if len(job.cells) > 1 else ""
    error = f"not done after {limit:g} seconds, which is what is allowed{cells}"
    return Outcome(status="timeout", error=error, error_class="Overdue")
