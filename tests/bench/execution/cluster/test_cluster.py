"""A suite on a scheduler and workers of their own, and what may become of these."""

import re
import shutil
from pathlib import Path
from threading import Thread

import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.bench.environment.provenance import host
from lockstep_bench.bench.execution.cluster.backend import DaskBackend, NoScheduler, needs_of
from lockstep_bench.bench.execution.cluster.connection import Tls, connected
from lockstep_bench.bench.execution.scheduler import run_jobs
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.shared.columns import CELLS, TABLES
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.schema import COSTS

ROOT = Path(__file__).resolve().parents[4]
TINY = Protocol(epochs=1, batch_size=100, trials=2, folds=2, samples=5, validation_samples=5)
TIMES = {name for name in COSTS if "seconds" in name or "memory" in name} | {"elapsed_seconds", "finished_at"}

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture
def machines(shared_machines):
    return shared_machines


def tables(out: Path) -> dict[str, pd.DataFrame]:
    """All rows without what a clock or a memory meter says, and every table beside them."""
    cells = pd.read_parquet(out / "cells").drop(columns=list(TIMES))
    found = {"cells": cells.sort_values(["method", "split"]).reset_index(drop=True)}
    for part in TABLES:
        found |= {
            str(path.relative_to(out)): pq.read_table(path).to_pandas() for path in (out / part).rglob("*.parquet")
        }
    return found


def jobs(folder: Path, *methods: str) -> list[Job]:
    cells = [Cell("uci", "diabetes", method, 0, "tiny", TINY, 0) for method in methods]
    return [Job((cell,), (folder / f"{cell.method}.json",), folder / "of no concern to workers") for cell in cells]


def team(client, todo: list[Job]) -> DaskBackend:
    return DaskBackend(client, needs_of([cell for job in todo for cell in job.cells], fetch=True), print)


def test_two_cluster_workers_give_the_local_results(machines, invoke, jobs_run_here, tmp_path):
    cluster = machines.cluster_of(2)
    workers = cluster.workers
    there = invoke("--out", str(tmp_path / "there"), "--cluster", cluster.address)
    assert there.exit_code == 0, there.stderr
    assert "2 cells; 2 worker(s) on" in there.stdout
    assert "killed by SIGKILL" in there.stderr  # in a process of its worker, which lives on
    assert all(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers)
    machines.eventually(lambda: not any(map(machines.fits, workers)))

    here = invoke("--out", str(tmp_path / "here"), "--workers", "2")
    assert here.exit_code == 0, here.stderr
    found, expected = (tables(tmp_path / out) for out in ("there", "here"))
    assert len(expected["cells"]) == 2
    assert found.keys() == expected.keys()
    for name, table in expected.items():
        pd.testing.assert_frame_equal(found[name], table)
    studies = [
        {path.relative_to(tmp_path / out) for path in (tmp_path / out / "studies").rglob("*.json")}
        for out in ("there", "here")
    ]
    assert studies[0] == studies[1]
    assert len(studies[0]) == 2
    assert not list(machines.folder.rglob("lockstep-bench-*/"))


def test_missing_requirements_of_workers_are_reported_before_running(machines):
    address = machines.cluster_of(2).address
    cells = [Cell("uci", "yacht", "map", 0, "tiny", TINY, 0), Cell("uci", "diabetes", "nowhere", 0, "tiny", TINY, 0)]
    with connected(address, Tls()) as client, pytest.raises(InvalidRequest) as refusal:
        DaskBackend(client, needs_of(cells, fetch=True), print)
    assert "lacks data set yacht: " in str(refusal.value)
    assert "lacks method nowhere" in str(refusal.value)


@pytest.mark.slow
def test_jobs_of_a_killed_worker_are_retried_on_another(machines, tmp_path):
    cluster = machines.cluster_of(2)
    todo, again, orphans = jobs(tmp_path, "hang-once"), [], []

    def kill_the_one_that_hangs() -> None:
        machines.eventually((machines.folder / "site" / "hung").exists)
        (busy,) = [worker for worker in cluster.workers if machines.fits(worker)]
        orphans.extend(machines.fits(busy))
        busy.kill()

    killer = Thread(target=kill_the_one_that_hangs)
    killer.start()
    with connected(cluster.address, Tls()) as client:
        (outcome,) = run_jobs(todo, team(client, todo), on_retry=again.append)
    killer.join()
    assert outcome.row["status"] == "ok"
    assert todo[0].journals[0].exists()
    assert [(one.row["status"], one.row["error_class"]) for one in again] == [("failed", "WorkerLost")]
    assert "was lost" in again[0].row["error"]
    pa.Table.from_pylist([again[0].row], schema=CELLS)
    assert orphans
    machines.eventually(lambda: not any(orphan.is_running() for orphan in orphans))


@pytest.mark.slow
def test_fits_end_with_run_driver_or_scheduler(machines, tmp_path):
    cluster = machines.cluster_of(1)
    address, (scheduler, worker) = cluster
    hung, todo = machines.folder / "site" / "hung", jobs(tmp_path, "map", "hang-once")

    def hangs() -> bool:
        return hung.exists() and bool(machines.fits(worker))

    with connected(address, Tls()) as client:
        told = []
        outcomes = run_jobs(todo, team(client, todo), on_progress=lambda job, one: told.append(job))
        first = next(outcomes)
        assert first.row["status"] == "ok"
        assert first.row["exclusive"] is True
        machines.eventually(hangs)
        outcomes.close()
        machines.eventually(lambda: not machines.fits(worker))
        assert set(told) == set(todo)

        hung.unlink()
        driver = machines.start_run("--methods", "hang-once", "--out", tmp_path / "out", "--cluster", address)
        machines.eventually(hangs)
        driver.kill()
        machines.eventually(lambda: not machines.fits(worker))

        hung.unlink()
        outcomes = run_jobs(todo, team(client, todo))
        assert next(outcomes).row["status"] == "ok"
        machines.eventually(hangs)
        scheduler.kill()
        with pytest.raises(NoScheduler, match="out of reach"):
            next(outcomes)
        machines.eventually(lambda: worker.poll() is not None or not machines.fits(worker))


@pytest.mark.slow
def test_cluster_workers_with_different_code_are_refused(machines, invoke, tmp_path):
    other = tmp_path / "other"
    for package in ("lockstep_bench", "bench", "methods", "datasets"):
        shutil.copytree(ROOT / package, other / package, symlinks=True)
    with (other / "bench" / "seeds.py").open("a") as file:
        file.write("# differs\n")
    address = machines.scheduler()
    machines.worker(address, python_path=other)
    refused = invoke("--cluster", address)
    assert refused.exit_code == 2, refused.stderr
    said = rf"on {re.escape(host())} is refused: it has (revision|source files of SHA-256) \S+, and here is "
    assert re.search(said, refused.stderr), refused.stderr
    assert "restart the workers" in refused.stderr
