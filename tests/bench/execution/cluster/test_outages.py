"""A worker, the scheduler or the network fails in mid-run: finished rows stay, and the run ends in words."""

import re
import socket
from contextlib import suppress
from threading import Thread

import pandas as pd
import pytest

from lockstep_bench.bench.execution.cluster import backend
from lockstep_bench.bench.execution.cluster.backend import DaskBackend, NoScheduler, needs_of
from lockstep_bench.bench.execution.cluster.connection import Tls, connected
from lockstep_bench.bench.execution.scheduler import run_jobs
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.shared.protocol import Protocol

TINY = Protocol(epochs=1, batch_size=100, trials=2, folds=2, samples=5, validation_samples=5)
METHODS = ("--methods", "map,hang-once")
SECONDS = 300  # a run that takes longer hangs

pytestmark = [pytest.mark.xdist_group("cluster"), pytest.mark.slow]


class Wire:
    """A connection to an address that can be cut, or forward nothing and stay open."""

    def __init__(self, address):
        self._target = re.fullmatch(r"tcp://(.+):(\d+)", address).groups()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends = [self._listener]
        self._stalled = False
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        Thread(target=self._accept, daemon=True).start()

    def cut(self):
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def stall(self):
        self._stalled = True

    def _accept(self):
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._ends += [near, far]
                for pair in ((near, far), (far, near)):
                    Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source, target):
        with suppress(OSError):
            while received := source.recv(1 << 16):
                if not self._stalled:
                    target.sendall(received)
            if not self._stalled:
                target.shutdown(socket.SHUT_WR)


@pytest.fixture
def wire():
    made = []
    yield lambda address: made.append(Wire(address)) or made[-1]
    for one in made:
        one.cut()


def one_is_stored_and_one_hangs(machines):
    """True when the row of `map` is stored and the other method runs."""
    stored = list((machines.folder / "out" / "cells").rglob("*/map/*/*.parquet"))
    return stored and (machines.folder / "site" / "hung").exists()


def statuses(machines):
    cells = pd.read_parquet(machines.folder / "out" / "cells")
    return dict(zip(cells["method"], cells["status"], strict=True))


def begin(machines, address):
    """Start a run on two workers, one of which hangs when this returns."""
    run = machines.start_run(*METHODS, "--out", "out", "--cluster", address)
    machines.eventually(lambda: one_is_stored_and_one_hangs(machines))
    return run


def ended(run):
    """Exit code and all that was printed."""
    output, errors = run.communicate(timeout=SECONDS)
    return run.returncode, output + errors


def test_run_continues_after_losing_all_cluster_workers(machines):
    address = machines.scheduler()
    workers = [machines.worker(address) for _ in range(2)]
    run = begin(machines, address)
    for worker in workers:
        worker.kill()
    machines.worker(address)
    code, said = ended(run)
    assert code == 0, said
    assert "was lost" in said
    assert statuses(machines) == {"map": "ok", "hang-once": "ok"}


@pytest.mark.parametrize("outage", ["scheduler", "network"])
def test_run_ends_and_resumes_after_scheduler_outage(machines, wire, outage):
    address = machines.scheduler()
    for _ in range(2):
        machines.worker(address)
    between = wire(address)
    run = begin(machines, between.address)
    (stored,) = (machines.folder / "out" / "cells").rglob("*.parquet")
    content = stored.read_bytes()
    if outage == "network":
        between.cut()
    else:
        machines.processes[0].kill()
    code, said = ended(run)
    assert code == 4, said
    assert "the Dask scheduler is out of reach; what was finished before is kept" in said
    assert "Traceback" not in said

    if outage == "scheduler":
        address = machines.scheduler()
        machines.worker(address)
    code, said = ended(machines.start_run(*METHODS, "--out", "out", "--cluster", address))
    assert code == 0, said
    assert statuses(machines) == {"map": "ok", "hang-once": "ok"}
    assert stored.read_bytes() == content


@pytest.mark.parametrize("stopped", ["scheduler", "worker"])
def test_signal_ends_a_run_despite_a_suspended_process(machines, stopped):
    address = machines.scheduler()
    workers = [machines.worker(address) for _ in range(2)]
    run = begin(machines, address)
    suspended = machines.processes[0] if stopped == "scheduler" else workers[1]
    suspended.suspend()
    run.terminate()
    code, said = ended(run)
    suspended.resume()
    assert code == 143, said
    assert "Stopped: by SIGTERM" in said
    assert "Traceback" not in said
    machines.eventually(lambda: not any(machines.fits(worker) for worker in workers))


def test_silent_scheduler_counts_as_unreachable(machines, wire, monkeypatch):
    monkeypatch.setattr(backend, "SILENT_SECONDS", 5.0)
    monkeypatch.setattr("lockstep_bench.bench.execution.cluster.connection.CONNECT_SECONDS", 10)
    address = machines.scheduler()
    machines.worker(address)
    between = wire(address)
    cells = [Cell("uci", "diabetes", method, 0, "tiny", TINY, 0) for method in ("map", "hang-once")]
    todo = [Job((cell,), (machines.folder / f"{cell.method}.json",), machines.folder) for cell in cells]
    with connected(between.address, Tls()) as client:
        team = DaskBackend(client, needs_of(cells, fetch=True), print)
        outcomes = run_jobs(todo, team)
        assert next(outcomes).row["status"] == "ok"
        machines.eventually((machines.folder / "site" / "hung").exists)
        between.stall()
        with pytest.raises(NoScheduler, match="has not answered for 5 seconds"):
            next(outcomes)
        team.end()
