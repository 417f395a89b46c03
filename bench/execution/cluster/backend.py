"""Running of jobs on a Dask cluster, whose Dask workers may join and leave during a run."""

import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from lockstep_bench.bench.execution.cluster.members import DaskWorker, admitted
from lockstep_bench.bench.execution.cluster.remote import Delivery, Needs, Order, execute, read
from lockstep_bench.bench.execution.pool import NoProcess
from lockstep_bench.bench.execution.returned import result_of_lost_process
from lockstep_bench.bench.execution.supervisor import Stopped
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.available import outsiders
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import JobProgress, OnProgress
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.results.record import CellResult, Outcome
from lockstep_bench.bench.results.storage import NotStored
from lockstep_bench.shared.rows.atomic import write_atomically

POLL_SECONDS = 1.0
SILENT_SECONDS = 120.0  # until a scheduler that answers nothing is given up; a busy one answers within seconds
LEAST_JOBS = 256  # for which there are threads here, however few workers there are; others may come later
REMEDY = "install the same code on all machines, restart the workers there, and run again"


class NoScheduler(NoProcess):
    """The Dask scheduler cannot be reached; this does not count as a failure of any cell."""


class DaskBackend:
    """A `bench.execution.scheduler.Backend` that runs jobs in the threads of Dask workers.

    A Dask worker is admitted if it runs the same code and has the data and methods that the jobs need. If a Dask worker
    is lost, its cells fail and are retried on another one. Dask workers that join later are used too.

    Args:
        client: A `distributed.Client`.
        needs: Data and methods that the jobs need.
        say: Function that is called with a message if a Dask worker that joins later is refused, or if none is left.

    Raises:
        InvalidRequest: A Dask worker that is present at the beginning is not admitted.
    """

    def __init__(self, client: Any, needs: Needs, say: Callable[[str], None]):
        self._client, self._needs, self._say = client, needs, say
        self._session = f"lockstep-bench-{uuid4().hex}"
        self._members: dict[str, DaskWorker] = {}
        self._refused: set[str] = set()
        self._free: SimpleQueue[tuple[str, DaskWorker]] = SimpleQueue()
        self._places: dict[str, DaskWorker] = {}
        self._taken: dict[str, DaskWorker] = {}
        self._on_progress: dict[str, OnProgress] = {}
        self._lock, self._ended = Lock(), Event()
        self._answered = self._checked = time.monotonic()
        client.subscribe_topic(self._session, self._report)
        self._wait_for_the_first()
        for look in (self._let_go, self._let_in):  # in two threads: a Dask worker that joins may download data first
            Thread(target=self._watch, args=[look], daemon=True).start()

    @property
    def max_jobs(self) -> int:
        """Largest number of jobs that may run at a time; it exceeds the number of workers, because others may join."""
        return max(LEAST_JOBS, 2 * len(self._places))

    @property
    def workers(self) -> list[Worker]:
        """The workers (one per thread) of all Dask workers that are admitted now."""
        with self._lock:
            return [member.worker(name, self._members) for name, member in self._places.items()]

    def acquire(self, stop: Event) -> Worker:
        idle = time.monotonic()
        while not (stop.is_set() or self._ended.is_set()):
            self._check_scheduler()
            with suppress(Empty):
                name, member = self._free.get(timeout=POLL_SECONDS)
                with self._lock:
                    if self._places.get(name) != member:  # its Dask worker is lost; another may have its name
                        continue
                    if not stop.is_set():
                        self._taken[name] = member
                        return member.worker(name, self._members)
                self._free.put((name, member))
            if not self._places and time.monotonic() - idle > 10 * POLL_SECONDS:
                idle = float("inf")
                self._say("No worker is left; waiting for others. Ctrl-C ends the run.")
        raise Stopped

    def release(self, worker: Worker) -> None:
        self._free.put((worker.name, self._taken[worker.name]))

    def run(self, job: Job, worker: Worker, timeout: float | None, on_progress: OnProgress) -> list[CellResult]:
        member, started = self._taken[worker.name], time.perf_counter()
        key = f"{self._session}-{uuid4().hex}"
        order = Order(self._session, pickle.dumps(job), read(job.journals), worker, timeout)
        self._on_progress[key] = on_progress
        try:
            delivery = self._result(order, member, key)
        finally:
            self._on_progress.pop(key, None)
        if delivery is None:
            return self._lost(job, worker, member, started)
        for journal, content in zip(job.journals, delivery.studies, strict=True):
            if content is not None:
                _store(job, content, journal)
        with self._lock:
            still_alone = member.worker(worker.name, self._members).exclusive
        results: list[CellResult] = pickle.loads(delivery.results)
        return results if still_alone else [replace(result, exclusive=False) for result in results]

    def end(self) -> None:
        self._ended.set()  # Dask workers end a job's process once nobody waits for it, and idle processes by themselves

    def _result(self, order: Order, member: DaskWorker, key: str) -> Delivery | None:
        """Return the `Delivery` of the Dask worker, or None if the worker was lost."""
        future = self._client.submit(
            execute, order, key=key, workers=[member.address], allow_other_workers=False, pure=False, retries=0
        )
        done = Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(POLL_SECONDS):
            self._check_scheduler()
            if self._ended.is_set() or self._members.get(member.address) != member:
                future.cancel(force=True)
                break
        if self._ended.is_set():
            raise Stopped
        if future.status == "finished":
            delivery: Delivery = future.result()
            return delivery
        self._check_scheduler()
        if future.status == "error":
            problem = future.exception()
            if isinstance(problem, NoProcess | NotStored):
                raise _from(member, problem)
            if not isinstance(problem, Stopped) and type(problem).__name__ != "KilledWorker":
                raise problem
        return None

    def _lost(self, job: Job, worker: Worker, member: DaskWorker, started: float) -> list[CellResult]:
        error = f"its Dask worker {member.address} on {member.host} was lost"
        outcome, seconds = (
            Outcome(status="failed", error=error, error_class="WorkerLost"),
            time.perf_counter() - started,
        )
        results = [result_of_lost_process(cell, worker.device, outcome, seconds) for cell in job.cells]
        return [
            replace(result, exclusive=False, provenance=replace(result.provenance, host=member.host))
            for result in results
        ]

    def _report(self, event: tuple[float, dict[str, Any]]) -> None:
        _, message = event
        if on_progress := self._on_progress.get(message["key"]):
            on_progress(JobProgress(*message["progress"]))

    def _wait_for_the_first(self) -> None:
        if not self._present():
            self._say("The cluster has no worker yet; waiting for the first. Ctrl-C ends the run.")
        while not self._members:
            if refusals := self._let_in():
                self.end()
                raise InvalidRequest(f"{'; '.join(refusals)}. To go on, {REMEDY}")
            if not self._members:
                time.sleep(POLL_SECONDS)

    def _watch(self, look: Callable[[], list[str]]) -> None:
        while not self._ended.wait(POLL_SECONDS):
            try:
                for refusal in look():
                    self._say(f"Not used: {refusal}")
            except Exception:  # the scheduler has ended, or a Dask worker did before its answer
                if self._client.status != "running":
                    return

    def _present(self) -> dict[str, dict[str, Any]]:
        present: dict[str, dict[str, Any]] = self._client.scheduler_info(n_workers=-1)["workers"]
        self._answered = time.monotonic()
        return present

    def _let_go(self) -> list[str]:
        """Remove Dask workers that have left; return an empty list, as there are no refusals."""
        present = self._present()
        with self._lock:
            members = self._members.values()
            gone = {member for member in members if present.get(member.address, {}).get("id") != member.id}
            for member in gone:
                del self._members[member.address]
            self._places = {name: member for name, member in self._places.items() if member not in gone}
        return []

    def _let_in(self) -> list[str]:
        """Admit Dask workers that have joined; return why some of them are refused."""
        present = self._present()
        with self._lock:
            known = {member.id for member in self._members.values()} | self._refused
        new = {address: described for address, described in present.items() if described["id"] not in known}
        if not new:
            return []
        members, refusals = admitted(self._client, new, self._needs)
        with self._lock:
            self._refused |= {described["id"] for described in new.values()} - {member.id for member in members}
            for member in members:
                self._members[member.address] = member
                self._places |= dict.fromkeys(member.names(), member)
        for member in members:
            for name in member.names():
                self._free.put((name, member))
        return refusals

    def _check_scheduler(self) -> None:
        if self._ended.is_set():
            return
        if self._client.status != "running":
            raise NoScheduler("the Dask scheduler is out of reach; what was finished before is kept")
        if self._silent():
            raise NoScheduler(
                f"the Dask scheduler has not answered for {SILENT_SECONDS:.0f} seconds; "
                "what was finished before is kept"
            )

    def _silent(self) -> bool:
        now = time.monotonic()
        if now - self._checked > 10 * POLL_SECONDS:  # this process was stopped, as by Ctrl-Z
            self._answered = now
        self._checked = now
        return now - self._answered > SILENT_SECONDS


def needs_of(cells: Sequence[Cell], fetch: bool) -> Needs:
    """Return which data sets, OOD data sets, pretrained weights and methods some cells need.

    Args:
        cells: The cells.
        fetch: Whether Dask workers download missing data. If False, the result names no data.
    """
    names = tuple(dict.fromkeys(cell.dataset for cell in cells))
    weights = dict.fromkeys(cell.protocol.weights for cell in cells if cell.protocol.weights)
    wanted = dict.fromkeys((cell.suite, cell.dataset, cell.method) for cell in cells)
    return Needs((*names, *outsiders(names), *weights) if fetch else (), tuple(wanted))


def _store(job: Job, content: bytes, journal: Any) -> None:
    try:
        write_atomically(content, journal)
    except OSError as problem:
        raise NotStored(job.cells, problem) from problem


def _from(member: DaskWorker, problem: NoProcess | NotStored) -> Exception:
    """Return the exception with the name of the machine added to its message."""
    if isinstance(problem, NoProcess):
        return NoProcess(f"on {member.host}: {problem}")
    reason = problem.reason
    reason_there = OSError(reason.errno, f"{reason.strerror}, on {member.host}", reason.filename)
    return NotStored(problem.cells, reason_there)
