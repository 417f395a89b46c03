"""Real schedulers and workers, each a process of its own on loopback."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from typer.testing import CliRunner

from lockstep_bench.methods.catalogue import registry
from lockstep_bench.run import app

ROOT = Path(__file__).resolve().parents[4]
START_SECONDS = 300  # on a busy machine
LOCAL = ("--dashboard-address", "127.0.0.1:0")
TINY = (
    *("--datasets", "diabetes", "--methods", "map,kill-once", "--splits", "0"),
    *("--trials", "2", "--folds", "2", "--epochs", "1"),
)


class Cluster(NamedTuple):
    """The address of a scheduler, and the processes: the scheduler's, then those of its workers."""

    address: str
    processes: list[psutil.Popen]

    @property
    def workers(self) -> list[psutil.Popen]:
        return self.processes[1:]


class Machines:
    """Processes of `dask`, started from `folder`, each with its log there."""

    def __init__(self, folder: Path, site: Path):
        self.folder = folder
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]),
            "BENCH_DATA_DIR": str(folder / "data"),
            "HTTPS_PROXY": "http://127.0.0.1:9",
        }
        self.processes: list[psutil.Popen] = []
        self.cluster = Cluster("", [])

    def scheduler(self, *options: str | Path, host: str = "tcp://127.0.0.1") -> str:
        """Start a scheduler, and return its address."""
        log = self.dask("scheduler", "--host", host, "--port", "0", *LOCAL, *options)
        return self.said(log, "Scheduler at:")

    def worker(
        self, address: str, *options: str | Path, host: str = "tcp://127.0.0.1", python_path: Path | None = None
    ) -> psutil.Popen:
        """A worker with one thread, and without the nanny that would start it again."""
        path = {} if python_path is None else {"PYTHONPATH": str(python_path)}
        own = ("--nthreads", "1", "--no-nanny", "--local-directory", self.folder, *LOCAL, *options)
        log = self.dask("worker", address, "--host", host, *own, **path)
        self.said(log, "Registered to:")
        return self.processes[-1]

    def cluster_of(self, n_workers: int) -> Cluster:
        """Return a cluster of `n_workers` idle workers: that of the last call, if just these workers still live."""
        for mark in ("died", "hung"):  # of the methods that go wrong once
            (self.folder / "site" / mark).unlink(missing_ok=True)
        address, processes = self.cluster
        alive = [process for process in processes if process.poll() is None]
        if alive[:1] != processes[:1] or len(alive) != 1 + n_workers or any(map(self.fits, alive)):
            self.end()
            self.processes.clear()
            address = self.scheduler()
            alive = [*self.processes, *(self.worker(address) for _ in range(n_workers))]
        self.cluster = Cluster(address, alive)
        return self.cluster

    def start_run(self, *arguments: str | Path) -> psutil.Popen:
        """`run_all.py` with a small budget and these arguments, the last of which hold."""
        command = [sys.executable, str(ROOT / "run_all.py"), *TINY, *map(str, arguments)]
        pipe = subprocess.PIPE
        self.processes.append(
            psutil.Popen(command, cwd=self.folder, env=self.environment, text=True, stdout=pipe, stderr=pipe)
        )
        return self.processes[-1]

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess:
        """The same, when it is done."""
        process = self.start_run(*arguments)
        output, errors = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    @staticmethod
    def fits(process: psutil.Process) -> list[psutil.Process]:
        """The processes in which a worker runs its jobs."""
        found = []
        for one in process.children():
            with suppress(psutil.NoSuchProcess):
                if "lockstep_bench.bench.execution.child" in one.cmdline():
                    found.append(one)
        return found

    @staticmethod
    def eventually(condition: Callable[[], object]) -> None:
        """Wait until a condition holds."""
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "it did not come to that"
            time.sleep(0.1)

    def end(self) -> None:
        every = self.tree()
        for process in every:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(every, 10)

    def tree(self) -> list[psutil.Process]:
        """All processes that were started here, and those that they started."""
        every: list[psutil.Process] = [*self.processes]
        for process in self.processes:
            with suppress(psutil.NoSuchProcess):
                every += process.children(recursive=True)
        return every

    def dask(self, *arguments: str | Path, **environment: str) -> Path:
        """Start `dask` with these arguments; its log."""
        log = self.folder / f"{arguments[0]}-{len(self.processes)}.log"
        with log.open("wb") as file:
            command = [sys.executable, "-m", "dask", *map(str, arguments)]
            process = psutil.Popen(
                command, stderr=file, stdout=file, env=self.environment | environment, cwd=self.folder
            )
        self.processes.append(process)
        return log

    def said(self, log: Path, words: str) -> str:
        """The last word of the first line of a log with these words."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for line in log.read_text().splitlines():
                if words in line:
                    return line.split()[-1]
            time.sleep(0.05)
        raise AssertionError(log.read_text())


@pytest.fixture
def invoke(machines, monkeypatch):
    """Runs the command in this process, which has imported everything already, with or without a cluster."""
    for name in ("BENCH_DATA_DIR", "HTTPS_PROXY"):
        monkeypatch.setenv(name, machines.environment[name])
    monkeypatch.syspath_prepend(machines.folder / "site")
    monkeypatch.chdir(machines.folder)
    registry._targets.cache_clear()
    yield lambda *arguments: CliRunner().invoke(app, [*TINY, *arguments])
    registry._targets.cache_clear()


@pytest.fixture
def machines(tmp_path, install_faulty):
    """Machines for the clusters of one test."""
    made = Machines(tmp_path, install_faulty(tmp_path / "site"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def shared_machines(tmp_path_factory, install_faulty):
    """Machines for a cluster that the tests of a file share until one kills a part of it."""
    folder = tmp_path_factory.mktemp("cluster")
    made = Machines(folder, install_faulty(folder / "site"))
    yield made
    made.end()
