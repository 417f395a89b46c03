"""Runs jobs on slots through joblib, each in its slot's process; what goes wrong is tried once more, alone."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import PriorityQueue
from threading import Event, Semaphore
from typing import Protocol

from joblib import Parallel, delayed

from bench.execution.retry import Crew, attempt
from bench.execution.supervisor import Stopped
from bench.execution.workers import Slot
from bench.experiment.jobs import Job
from bench.experiment.progress import Tell, Told
from bench.results.record import CellResult

Done = tuple[Job, list[CellResult]]


class Team(Protocol):
    """Slots, which may come and go, and who runs jobs there.

    Attributes:
        width: how many jobs may run at a time, at most.
    """

    width: int

    def take(self, stop: Event) -> Slot:
        """Wait for a slot that is free, which is taken then. Raises `Stopped` once `stop` is set or all is ended."""

    def release(self, slot: Slot) -> None:
        """The slot is free again."""

    def attempt(self, job: Job, slot: Slot, timeout: float | None, tell: Tell) -> list[CellResult]:
        """An outcome of each of the job's cells, as of `bench.execution.retry.attempt`."""

    def end(self) -> None:
        """End what runs, which raises `Stopped` there, and begin nothing else."""


class Here:
    """A `Team` of slots of this machine; the first that are free are taken first."""

    def __init__(self, slots: Sequence[Slot]):
        self.width, self._slots, self._crew = len(slots), slots, Crew()
        self._free: PriorityQueue[int] = PriorityQueue()
        for number in range(len(slots)):
            self._free.put(number)

    def take(self, stop: Event) -> Slot:
        number = self._free.get()
        if stop.is_set():
            self._free.put(number)
            raise Stopped
        return self._slots[number]

    def release(self, slot: Slot) -> None:
        self._free.put(self._slots.index(slot))

    def attempt(self, job: Job, slot: Slot, timeout: float | None, tell: Tell) -> list[CellResult]:
        return attempt(job, slot, self._crew, timeout, tell)

    def end(self) -> None:
        self._crew.end()


def run_jobs(
    jobs: Sequence[Job],
    where: Sequence[Slot] | Team,
    *,
    timeout: float | None = None,
    tell: Callable[[Job, Told], None] = lambda job, told: None,
    again: Callable[[CellResult], None] = lambda result: None,
    stop: Event | None = None,
) -> Iterator[CellResult]:
    """Run every job on the next slot that is free, in their order, and yield outcomes as they come.

    A cell that does not end "ok" is tried once more when all else is done: alone, in a new process, and if it may have
    lacked memory while no other slot works, with a quarter of the fits at a time. Its outcome is the second try's.
    Closing the iterator ends all processes.

    Args:
        jobs: whose cells are to be run.
        where: slots of this machine, or a team; each slot runs one job at a time.
        timeout: wall-clock seconds that each cell is given at each try, cells of a job together; None for no limit.
        tell: is called, from other threads, when a job begins and then at most once a second.
        again: is called with the outcome of the first try of a cell that is to have a second.
        stop: once it is set no other job begins, and those that run are the last.

    Raises `bench.execution.retry.NoProcess` where processes cannot start, and `bench.results.storage.NotStored`.
    """
    team = Here(where) if isinstance(where, Sequence) else where
    dispatch = partial(_dispatch, team=team, timeout=timeout, tell=tell, stop=stop or Event())
    starved, suspects = [], []
    try:
        for job, results in dispatch(jobs, team.width):
            for alone, result in zip(job.alone(), results, strict=True):
                if result.status == "ok":
                    yield result
                else:
                    again(result)
                    (starved if _may_have_lacked_memory(result) else suspects).append(_anew(alone, result))
        for second, together in ((suspects, team.width), (list(map(_smaller, starved)), 1)):
            for _, results in dispatch(second, together):
                yield from results
    finally:
        team.end()


def _dispatch(
    jobs: Sequence[Job],
    at_once: int,
    *,
    team: Team,
    timeout: float | None,
    tell: Callable[[Job, Told], None],
    stop: Event,
) -> Iterator[Done]:
    """Every job with its outcomes, as they end; a job that was stopped, or never begun, is left out."""
    at_once = min(at_once, max(1, len(jobs)))
    waiting, room = deque(jobs), Semaphore(at_once)

    def next_on_a_free_slot() -> Done | None:
        with room, suppress(Stopped):
            slot = team.take(stop)
            try:
                job = waiting.popleft()  # only now, so that jobs begin in their order whichever thread gets the slot
                tell(job, Told(0.0))
                return job, team.attempt(job, slot, timeout, partial(tell, job))
            finally:
                team.release(slot)
        return None

    # One thread more than jobs at once, which waits for the first slot that becomes free.
    pool = Parallel(n_jobs=at_once + 1, backend="threading", return_as="generator_unordered")
    found = pool(delayed(next_on_a_free_slot)() for _ in jobs)
    try:
        yield from filter(None, found)
    except BaseException:
        team.end()
        deque(found, maxlen=0)  # jobs that are left end at once, and so do the threads
        raise


def _may_have_lacked_memory(result: CellResult) -> bool:
    name, error = result.outcome.error_class or "", result.outcome.error or ""
    return name == "SIGKILL" or name.endswith("MemoryError") or "can't allocate memory" in error


def _smaller(job: Job) -> Job:
    """The job with a quarter of the fits at a time, which changes its memory and not its results."""
    return replace(job, stack_rows=max(1, job.stack_rows // 4))


def _anew(job: Job, result: CellResult) -> Job:
    """A cell's second try. One whose trials all diverged would read that in its study, and learn nothing."""
    if result.status == "diverged":
        job.journals[0].unlink(missing_ok=True)
    return job
