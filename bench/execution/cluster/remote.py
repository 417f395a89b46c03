"""Code that runs on a Dask worker: it runs a driver's job in a child process, and stops it if the driver is lost.

Large libraries are imported in the thread of the job, not when Dask unpickles it. Dask unpickles in the thread that
keeps contact with the scheduler, which must not be blocked.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread, Timer, current_thread
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dask.typing import Key

    from lockstep_bench.bench.execution.pool import Pool
    from lockstep_bench.bench.execution.workers import Worker
    from lockstep_bench.bench.experiment.progress import JobProgress

WATCH_SECONDS = 0.5
IDLE_SECONDS = 20  # until an idle process ends, as after the end of a run


class Needs(NamedTuple):
    """Data and methods that a machine must have to run jobs.

    Attributes:
        published: Names of data sets and of pretrained weights.
        wanted: Tuples (suite, data set, method) of the cells.
    """

    published: tuple[str, ...]
    wanted: tuple[tuple[str, str, str], ...]


class Order(NamedTuple):
    """A job as it is sent to a Dask worker.

    Attributes:
        session: Name of the driver's run, and of the Dask topic to which progress is reported.
        job: The pickled `bench.experiment.jobs.Job`.
        studies: Contents of the files of the cells' Optuna studies (`Job.journals`); None for a file that is missing.
        worker: The worker that runs the job.
        timeout: Seconds per cell; None for no limit.
    """

    session: str
    job: bytes
    studies: tuple[bytes | None, ...]
    worker: Worker
    timeout: float | None


class Delivery(NamedTuple):
    """The results of a job as they are sent back.

    Attributes:
        results: The pickled list of `bench.results.record.CellResult`.
        studies: Contents of the files of the cells' Optuna studies; None for a file that does not exist.
    """

    results: bytes
    studies: tuple[bytes | None, ...]


def missing_needs(needs: Needs) -> list[str]:
    """Return a sentence, with a remedy, for each data set or method that is missing and cannot be downloaded."""
    from lockstep_bench.bench.experiment.available import have
    from lockstep_bench.bench.experiment.suites import SUITES

    _, missing = have(needs.published, None, fetch=True)
    problems = [f"data set {absent.dataset}: {absent.reason}. To have it: {absent.remedy}" for absent in missing]
    for suite, dataset, method in needs.wanted:
        kind = SUITES[suite].kind
        if method.rpartition(":")[2] not in kind.names():
            problems.append(f"method {method} is not installed. To have it: install its package there")
        if lack := kind.lacks(dataset):
            problems.append(f"{dataset}: {lack[0]}. To have it: {lack[1]}")
    return list(dict.fromkeys(problems))


def execute(order: Order) -> Delivery:
    """Run a job on this Dask worker.

    Raises:
        Exception: Any that `bench.execution.pool.run_on_worker` raises.
    """
    from distributed import get_worker

    from lockstep_bench.bench.execution.pool import run_on_worker

    dask_worker, job = get_worker(), pickle.loads(order.job)
    key = dask_worker.get_current_task()

    def on_progress(progress: JobProgress) -> None:
        dask_worker.log_event(order.session, {"key": key, "progress": list(progress)})

    with (
        _pool(order.session, order.worker) as pool,
        _watched(dask_worker, key, pool, order.worker),
        tempfile.TemporaryDirectory(dir=dask_worker.local_directory, prefix="lockstep-bench-") as scratch,
    ):
        journals = tuple(Path(scratch, f"{number}.json") for number in range(len(job.cells)))
        for journal, content in zip(journals, order.studies, strict=True):
            if content is not None:
                journal.write_bytes(content)
        local_job = replace(job, journals=journals, data_dir=None)
        results = run_on_worker(local_job, order.worker, pool, order.timeout, on_progress)
        return Delivery(pickle.dumps(results), read(journals))


def read(journals: Sequence[Path]) -> tuple[bytes | None, ...]:
    """Return the contents of the files of Optuna studies; None for a file that does not exist."""
    return tuple(journal.read_bytes() if journal.exists() else None for journal in journals)


_lock = Lock()
_pools: dict[tuple[str, str], Pool] = {}  # by session and worker
_timers: dict[tuple[str, str], Timer] = {}  # of pools that are idle


@contextmanager
def _pool(session: str, worker: Worker) -> Iterator[Pool]:
    """Yield the process pool of one worker in a driver's run; the pool ends when no other job follows."""
    from lockstep_bench.bench.execution.pool import Pool

    place = session, worker.name
    with _lock:
        pool = _pools.setdefault(place, Pool())
        if timer := _timers.pop(place, None):
            timer.cancel()
    try:
        yield pool
    finally:
        with _lock:
            timer = _timers[place] = Timer(IDLE_SECONDS, _end_idle, [place])
            timer.daemon = True
            timer.start()


def _end_idle(place: tuple[str, str]) -> None:
    with _lock:
        if _timers.get(place) is not current_thread():  # a job has begun just now
            return
        del _timers[place]
        pool = _pools.pop(place)
    pool.end()


@contextmanager
def _watched(dask_worker: Any, key: Key, pool: Pool, worker: Worker) -> Iterator[None]:
    """End the worker's process as soon as nobody waits for the task, or the Dask worker closes."""
    over = Event()

    def watch() -> None:
        while not over.wait(WATCH_SECONDS):
            if not _wanted(dask_worker, key):
                pool.dismiss(worker)

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _wanted(dask_worker: Any, key: Key) -> bool:
    task = dask_worker.state.tasks.get(key)
    return task is not None and task.state == "executing" and dask_worker.status.name in ("running", "paused")
