"""What runs on a Dask worker: jobs of drivers elsewhere, in processes of their own, as long as they are wanted.

Nothing heavy is imported until a job needs it, and then in the job's thread: Dask unpickles in the one that keeps the
worker in touch with its scheduler.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock, Thread, Timer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from bench.execution.retry import Crew
    from bench.execution.workers import Slot

WATCH_SECONDS = 0.5
IDLE_SECONDS = 60  # until a slot's process ends that has nothing to do, as after its driver's death


class Needs(NamedTuple):
    """What jobs ask of a machine.

    Attributes:
        published: names of data sets and of trained weights.
        wanted: (suite, data set, method) of the cells.
    """

    published: tuple[str, ...]
    wanted: tuple[tuple[str, str, str], ...]


class Order(NamedTuple):
    """A job on its way to a worker.

    Attributes:
        session: the driver's, whose topic progress is told under.
        job: a `bench.experiment.jobs.Job`, pickled.
        studies: contents of the journals, None for those that are not there.
        slot: where.
        timeout: seconds for each cell, or None.
    """

    session: str
    job: bytes
    studies: tuple[bytes | None, ...]
    slot: Slot
    timeout: float | None


class Delivery(NamedTuple):
    """What becomes of it: `bench.results.record.CellResult`s, pickled, and the journals' contents."""

    results: bytes
    studies: tuple[bytes | None, ...]


def lacking(needs: Needs) -> list[str]:
    """What this machine cannot have of what is needed, each with its remedy; data sets are downloaded if need be."""
    from bench.experiment.plan import have
    from bench.experiment.suites import SUITES

    _, missing = have(needs.published, None, fetch=True)
    problems = [f"data set {one.dataset}: {one.reason}. To have it: {one.remedy}" for one in missing]
    for suite, dataset, method in needs.wanted:
        kind = SUITES[suite].kind
        if method.rpartition(":")[2] not in kind.names():
            problems.append(f"method {method} is not installed. To have it: install its package there")
        if found := kind.lacks(dataset):
            problems.append(f"{dataset}: {found[0]}. To have it: {found[1]}")
    return list(dict.fromkeys(problems))


def execute(order: Order) -> Delivery:
    """Run a job in this worker's slot. Raises what `bench.execution.retry.attempt` raises."""
    from distributed import get_worker

    from bench.execution.retry import attempt

    worker, job = get_worker(), pickle.loads(order.job)
    key = worker.get_current_task()

    def tell(told: tuple[float, str, float]) -> None:
        worker.log_event(order.session, {"key": key, "told": list(told)})

    with (
        _crew(order.session, order.slot) as crew,
        _watched(worker, key, crew, order.slot),
        tempfile.TemporaryDirectory(dir=worker.local_directory, prefix="lockstep-bench-") as scratch,
    ):
        journals = tuple(Path(scratch, f"{number}.jsonl") for number in range(len(job.cells)))
        for journal, content in zip(journals, order.studies, strict=True):
            if content is not None:
                journal.write_bytes(content)
        here = replace(job, journals=journals, data_dir=None)
        results = attempt(here, order.slot, crew, order.timeout, tell)
        return Delivery(pickle.dumps(results), read(journals))


def leave(session: str) -> None:
    """End the processes of a driver that is done, and what they do."""
    with _lock:
        crew = _crews.pop(session, None)
    if crew:
        crew.end()


def read(journals: Sequence[Path]) -> tuple[bytes | None, ...]:
    """Their contents, None for those that are not there."""
    return tuple(journal.read_bytes() if journal.exists() else None for journal in journals)


_lock = Lock()
_crews: dict[str, Crew] = {}
_timers: dict[tuple[str, str], Timer] = {}


@contextmanager
def _crew(session: str, slot: Slot) -> Iterator[Crew]:
    """The session's, whose process for the slot is ended when no other job follows."""
    from bench.execution.retry import Crew

    idle = session, slot.name
    with _lock:
        crew = _crews.setdefault(session, Crew())
        if timer := _timers.pop(idle, None):
            timer.cancel()
    try:
        yield crew
    finally:
        with _lock:
            _timers[idle] = Timer(IDLE_SECONDS, crew.dismiss, [slot])
            _timers[idle].daemon = True
            _timers[idle].start()


@contextmanager
def _watched(worker: Any, key: str, crew: Crew, slot: Slot) -> Iterator[None]:
    """Ends the slot's process as soon as nobody waits for the task, or the worker closes."""
    over = Event()

    def watch() -> None:
        while not over.wait(WATCH_SECONDS):
            if not _wanted(worker, key):
                crew.dismiss(slot)

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _wanted(worker: Any, key: str) -> bool:
    task = worker.state.tasks.get(key)
    return task is not None and task.state == "executing" and worker.status.name in ("running", "paused")
