"""Scheduling of jobs on workers through joblib; a cell that fails is retried once, alone."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import PriorityQueue
from threading import Event, Semaphore
from typing import Protocol

from joblib import Parallel, delayed

from lockstep_bench.bench.execution.pool import Pool, run_on_worker
from lockstep_bench.bench.execution.spare_process import Spare
from lockstep_bench.bench.execution.supervisor import Stopped
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import JobProgress, OnProgress
from lockstep_bench.bench.results.record import CellResult

UNREAD = 3
FinishedJob = tuple[Job, list[CellResult]]


class Backend(Protocol):
    """Interface of a set of workers, which may change during a run, and which run jobs."""

    @property
    def max_jobs(self) -> int:
        """Largest number of jobs that may run at a time."""

    def acquire(self, stop: Event) -> Worker:
        """Wait for a free worker, reserve it and return it.

        Raises:
            Stopped: `stop` is set, or the backend was ended.
        """

    def release(self, worker: Worker) -> None:
        """Make a reserved worker free again."""

    def run(self, job: Job, worker: Worker, timeout: float | None, on_progress: OnProgress) -> list[CellResult]:
        """Run a job on a worker and return the result of each cell, as `bench.execution.pool.run_on_worker` does."""

    def end(self) -> None:
        """Stop all running jobs, whose calls of `run` then raise `Stopped`; no other job can begin."""


class LocalBackend:
    """Backend with workers on this machine. Of several free workers, the first in `workers` is taken.

    Args:
        workers: The workers.
        spare: See `Pool`.
    """

    def __init__(self, workers: Sequence[Worker], spare: Spare | None = None):
        self._workers, self._pool = workers, Pool(spare)
        self._numbers = {worker: number for number, worker in enumerate(workers)}
        self._free: PriorityQueue[int] = PriorityQueue()
        for number in range(len(workers)):
            self._free.put(number)

    @property
    def max_jobs(self) -> int:
        return len(self._workers)

    def acquire(self, stop: Event) -> Worker:
        number = self._free.get()
        if stop.is_set():
            self._free.put(number)
            raise Stopped
        return self._workers[number]

    def release(self, worker: Worker) -> None:
        self._free.put(self._numbers[worker])

    def run(self, job: Job, worker: Worker, timeout: float | None, on_progress: OnProgress) -> list[CellResult]:
        return run_on_worker(job, worker, self._pool, timeout, on_progress)

    def end(self) -> None:
        self._pool.end()


def run_jobs(
    jobs: Sequence[Job],
    where: Sequence[Worker] | Backend,
    *,
    timeout: float | None = None,
    on_progress: Callable[[Job, JobProgress], None] = lambda job, progress: None,
    on_retry: Callable[[CellResult], None] = lambda result: None,
    stop: Event | None = None,
) -> Generator[CellResult, None, None]:
    """Run jobs in their order, each on the next free worker, and yield the result of each cell when it is known.

    A cell whose status is not "ok" is retried once after all other jobs, alone and in a new process. If it may have run
    out of memory, no other worker runs at that time, and its stacks have a quarter as many replicas. Only the second
    result is yielded. Closing the iterator ends all processes.

    Args:
        jobs: The jobs.
        where: Workers of this machine, or a backend.
        timeout: Wall-clock seconds per cell and try; a job may take this times its number of cells. None for no limit.
        on_progress: Called from other threads when a job begins, and then at most once a second.
        on_retry: Called with the first result of a cell that will be retried.
        stop: Event after which no further job begins; running jobs are finished.

    Raises:
        NoProcess: A worker's process cannot be started.
        NotStored: No more results can be stored, for example because the disk is full.
    """
    backend = LocalBackend(where) if isinstance(where, Sequence) else where
    dispatch = partial(_dispatch, backend=backend, timeout=timeout, on_progress=on_progress, stop=stop or Event())
    starved: list[Job] = []
    suspects: list[Job] = []
    try:
        for job, results in dispatch(jobs, backend.max_jobs):
            for alone, result in zip(job.alone(), results, strict=True):
                if result.status == "ok":
                    yield result
                else:
                    on_retry(result)
                    (starved if _may_be_out_of_memory(result) else suspects).append(_retry_of(alone, result))
        for retries, at_once in ((suspects, backend.max_jobs), (list(map(_smaller, starved)), 1)):
            for _, results in dispatch(retries, at_once):
                yield from results
    finally:
        backend.end()


def _dispatch(
    jobs: Sequence[Job],
    at_once: int,
    *,
    backend: Backend,
    timeout: float | None,
    on_progress: Callable[[Job, JobProgress], None],
    stop: Event,
) -> Iterator[FinishedJob]:
    """Yield every finished job with its results; jobs that are stopped or never begin are left out.

    No further job begins while results of too many jobs (`UNREAD` times the number that run at once) are not consumed
    yet. Otherwise results would fill the memory if the disk is slow.
    """
    at_once = min(at_once, max(1, len(jobs)))
    waiting, room, unread = deque(jobs), Semaphore(at_once), Semaphore(UNREAD * at_once)

    def next_on_a_free_worker() -> FinishedJob | None:
        unread.acquire()
        with room, suppress(Stopped):
            worker = backend.acquire(stop)
            try:
                job = waiting.popleft()  # only now, so that jobs begin in order whichever thread gets the worker
                on_progress(job, JobProgress(0.0))
                return job, backend.run(job, worker, timeout, partial(on_progress, job))
            finally:
                backend.release(worker)
        return None

    # One thread more than jobs at once, which waits for the first worker that becomes free.
    threads = Parallel(n_jobs=at_once + 1, backend="threading", return_as="generator_unordered")
    call = delayed(next_on_a_free_worker)()
    finished = threads(call for _ in jobs)
    try:
        for job_or_none in finished:
            if job_or_none is not None:
                yield job_or_none
            unread.release()
    except BaseException:
        backend.end()
        unread.release()
        for _ in finished:  # jobs that are left end at once, and so do the threads
            unread.release()
        raise


def _may_be_out_of_memory(result: CellResult) -> bool:
    name, error = result.outcome.error_class or "", result.outcome.error or ""
    return name == "SIGKILL" or name.endswith("MemoryError") or "can't allocate memory" in error


def _smaller(job: Job) -> Job:
    """Return the job with a quarter of the fits at a time, which changes its memory and not its results."""
    return replace(job, stack_rows=max(1, job.stack_rows // 4))


def _retry_of(job: Job, result: CellResult) -> Job:
    """Return the job for a second try of a cell, whose study is deleted if all its trials diverged."""
    if result.status == "diverged":
        job.journals[0].unlink(missing_ok=True)
    return job
