"""A Dask cluster as a `bench.execution.scheduler.Team`: slots come and go with its workers."""

import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from bench.execution.cluster.members import Member, admitted
from bench.execution.cluster.remote import Delivery, Needs, Order, execute, leave, read
from bench.execution.retry import NoProcess
from bench.execution.run import result_of_lost_process
from bench.execution.supervisor import Stopped
from bench.execution.workers import Slot
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job
from bench.experiment.plan import Refused, outsiders
from bench.experiment.progress import Tell, Told
from bench.results.record import CellResult, Outcome
from bench.results.storage import NotStored, write_atomically

POLL_SECONDS = 1.0
MOST_JOBS = 256  # at a time; each costs a waiting thread here
REMEDY = "install the same code on all machines, restart the workers there, and run again"


class NoScheduler(NoProcess):
    """The scheduler is out of reach, which is no cell's fault."""


class Cluster:
    """Runs jobs in the threads of a cluster's workers.

    A worker is let in when it runs the code that runs here and has what is needed. One that is lost takes along the
    jobs that it runs, whose cells have failed by that, and nothing else; one that comes later is used.

    Args:
        client: a `distributed.Client`.
        needs: of the jobs.
        say: is given a line on workers that are refused later, and on waiting.

    Raises `Refused` if a worker is not let in that is there from the beginning.
    """

    width = MOST_JOBS

    def __init__(self, client: Any, needs: Needs, say: Callable[[str], None]):
        self._client, self._needs, self._say = client, needs, say
        self._session = f"lockstep-bench-{uuid4().hex}"
        self._members: dict[str, Member] = {}
        self._refused: set[str] = set()
        self._free: SimpleQueue[tuple[str, Member]] = SimpleQueue()
        self._places: dict[str, Member] = {}
        self._taken: dict[str, Member] = {}
        self._tells: dict[str, Tell] = {}
        self._lock, self._ended = Lock(), Event()
        client.subscribe_topic(self._session, self._told)
        self._wait_for_the_first()
        for look in (self._let_go, self._let_in):  # apart, because one that comes may have to download its data first
            Thread(target=self._watch, args=[look], daemon=True).start()

    @property
    def slots(self) -> list[Slot]:
        """All there are now."""
        with self._lock:
            return [member.slot(name, self._members) for name, member in self._places.items()]

    def take(self, stop: Event) -> Slot:
        idle = time.monotonic()
        while not (stop.is_set() or self._ended.is_set()):
            self._check_scheduler()
            with suppress(Empty):
                name, member = self._free.get(timeout=POLL_SECONDS)
                with self._lock:
                    if self._places.get(name) != member:  # it is lost, though another may have its name
                        continue
                    if not stop.is_set():
                        self._taken[name] = member
                        return member.slot(name, self._members)
                self._free.put((name, member))
            if not self._places and time.monotonic() - idle > 10 * POLL_SECONDS:
                idle = float("inf")
                self._say("No worker is left; waiting for others. Ctrl-C ends the run.")
        raise Stopped

    def release(self, slot: Slot) -> None:
        self._free.put((slot.name, self._taken[slot.name]))

    def attempt(self, job: Job, slot: Slot, timeout: float | None, tell: Tell) -> list[CellResult]:
        member, started = self._taken[slot.name], time.perf_counter()
        key = f"{self._session}-{uuid4().hex}"
        order = Order(self._session, pickle.dumps(job), read(job.journals), slot, timeout)
        self._tells[key] = tell
        try:
            delivery = self._result(order, member, key)
        finally:
            self._tells.pop(key, None)
        if delivery is None:
            return self._lost(job, slot, member, started)
        for journal, content in zip(job.journals, delivery.studies, strict=True):
            if content is not None:
                _store(job, content, journal)
        with self._lock:
            still_alone = member.slot(slot.name, self._members).exclusive
        results: list[CellResult] = pickle.loads(delivery.results)
        return results if still_alone else [replace(result, exclusive=False) for result in results]

    def end(self) -> None:
        if self._ended.is_set():
            return
        self._ended.set()
        with suppress(Exception):  # whatever has become of the cluster, its workers notice by themselves
            self._client.unsubscribe_topic(self._session)
            self._client.run(leave, self._session, workers=list(self._members), on_error="ignore")

    def _result(self, order: Order, member: Member, key: str) -> Delivery | None:
        """What the worker delivers, or None if it was lost."""
        future = self._client.submit(
            execute, order, key=key, workers=[member.address], allow_other_workers=False, pure=False, retries=0
        )
        done = Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(POLL_SECONDS):
            if self._ended.is_set() or self._members.get(member.address) != member:
                future.cancel(force=True)
                break
        if self._ended.is_set():
            raise Stopped
        if future.status == "finished":
            return future.result()
        self._check_scheduler()
        if future.status == "error":
            problem = future.exception()
            if isinstance(problem, NoProcess | NotStored):
                raise _from(member, problem)
            if not isinstance(problem, Stopped) and type(problem).__name__ != "KilledWorker":
                raise problem
        return None

    def _lost(self, job: Job, slot: Slot, member: Member, started: float) -> list[CellResult]:
        error = f"its Dask worker {member.address} on {member.host} was lost"
        outcome, seconds = (
            Outcome(status="failed", error=error, error_class="WorkerLost"),
            time.perf_counter() - started,
        )
        results = [result_of_lost_process(cell, slot.device, outcome, seconds) for cell in job.cells]
        return [
            replace(result, exclusive=False, provenance=replace(result.provenance, host=member.host))
            for result in results
        ]

    def _told(self, event: tuple[float, dict[str, Any]]) -> None:
        _, message = event
        if tell := self._tells.get(message["key"]):
            tell(Told(*message["told"]))

    def _wait_for_the_first(self) -> None:
        if not self._there():
            self._say("The cluster has no worker yet; waiting for the first. Ctrl-C ends the run.")
        while not self._members:
            if refusals := self._let_in():
                self.end()
                raise Refused(f"{'; '.join(refusals)}. To go on, {REMEDY}")
            if not self._members:
                time.sleep(POLL_SECONDS)

    def _watch(self, look: Callable[[], list[str]]) -> None:
        while not self._ended.wait(POLL_SECONDS):
            try:
                for refusal in look():
                    self._say(f"Not used: {refusal}")
            except Exception:  # the scheduler is gone, or a worker went while it was asked
                if self._client.status != "running":
                    return

    def _there(self) -> dict[str, dict[str, Any]]:
        return self._client.scheduler_info(n_workers=-1)["workers"]

    def _let_go(self) -> list[str]:
        """Take note of workers that have gone."""
        there = self._there()
        with self._lock:
            gone = {own for own in self._members.values() if there.get(own.address, {}).get("id") != own.id}
            for member in gone:
                del self._members[member.address]
            self._places = {name: own for name, own in self._places.items() if own not in gone}
        return []

    def _let_in(self) -> list[str]:
        """Take note of workers that have come; why some of them are refused."""
        there = self._there()
        with self._lock:
            known = {member.id for member in self._members.values()} | self._refused
        new = {address: one for address, one in there.items() if one["id"] not in known}
        if not new:
            return []
        members, refusals = admitted(self._client, new, self._needs)
        with self._lock:
            self._refused |= {one["id"] for one in new.values()} - {member.id for member in members}
            for member in members:
                self._members[member.address] = member
                self._places |= dict.fromkeys(member.names(), member)
        for member in members:
            for name in member.names():
                self._free.put((name, member))
        return refusals

    def _check_scheduler(self) -> None:
        if self._client.status != "running" and not self._ended.is_set():
            raise NoScheduler("the Dask scheduler is out of reach; what was finished before is kept")


def needs_of(cells: Sequence[Cell], fetch: bool) -> Needs:
    """Of cells: their data, what is out of distribution for that, and the weights that networks start from.

    Workers download what they lack of these if `fetch`; else they are not asked whether they have them.
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


def _from(member: Member, problem: NoProcess | NotStored) -> Exception:
    """It, saying where."""
    if isinstance(problem, NoProcess):
        return NoProcess(f"on {member.host}: {problem}")
    reason = problem.reason
    told = OSError(reason.errno, f"{reason.strerror}, on {member.host}", reason.filename)
    return NotStored(problem.cells, told)
