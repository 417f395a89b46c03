"""Jobs on workers: who is tried again, where and when; with attempts that cost nothing."""

import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from runs import wait_for

from lockstep_bench.bench.execution import scheduler
from lockstep_bench.bench.execution.pool import NoProcess
from lockstep_bench.bench.execution.scheduler import run_jobs
from lockstep_bench.bench.execution.supervisor import Stopped
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import JobProgress
from lockstep_bench.bench.results.record import CellResult, Outcome, Provenance
from lockstep_bench.shared.protocol import Protocol

WORKERS = (Worker("one", neighbours=1), Worker("two", neighbours=1))
FAILED = {"status": "failed", "error": "it broke", "error_class": "ValueError"}


PROVENANCE = Provenance.now("cpu")


def result(cell: Cell, row: dict) -> CellResult:
    return CellResult(cell=cell, outcome=Outcome(**row), provenance=PROVENANCE, elapsed_seconds=1.0)


def job(*splits: int, folder: Path = Path("nowhere")) -> Job:
    cells = tuple(Cell("uci", "diabetes", "map", split, "tiny", Protocol(), 0) for split in splits)
    return Job(cells, tuple(folder / f"{split}.json" for split in splits), None)


class Attempts:
    """Stands for `run_on_worker`: every cell is "ok", but for what `ends` says of its first tries."""

    def __init__(self, ends: dict[int, list[dict]]):
        self.ends, self.seen, self.lock = ends, [], threading.Lock()

    def __call__(self, job, worker, pool, timeout, on_progress):
        with self.lock:
            self.seen.append((tuple(cell.split for cell in job.cells), worker.name, timeout))
            ends = [self.ends.get(cell.split, []) for cell in job.cells]
            rows = [own.pop(0) if own else {"status": "ok"} for own in ends]
        on_progress(JobProgress(0.5))
        return [result(cell, row) for cell, row in zip(job.cells, rows, strict=True)]

    @property
    def splits(self) -> list[tuple[int, ...]]:
        return [splits for splits, _, _ in self.seen]


@pytest.fixture
def attempts(monkeypatch):
    def make(**ends: list[dict]) -> Attempts:
        made = Attempts({int(split[1:]): own for split, own in ends.items()})
        monkeypatch.setattr(scheduler, "run_on_worker", made)
        return made

    return make


def statuses(outcomes) -> dict[int, str]:
    return {outcome.cell.split: outcome.status for outcome in outcomes}


def test_every_job_runs_once_in_order(attempts):
    seen = attempts()
    found = statuses(run_jobs([job(number) for number in range(20)], WORKERS, timeout=7))
    assert found == dict.fromkeys(range(20), "ok")
    begun = [number for (number,) in seen.splits]
    for place, number in enumerate(begun):  # the other worker may have taken an earlier job, and begin it later
        assert len(set(range(number)).difference(begun[:place])) <= 1
    assert {(worker, timeout) for _, worker, timeout in seen.seen} <= {("one", 7), ("two", 7)}


def test_workers_wait_if_storing_results_is_slow(attempts):
    """A disk slower than the workers must not fill the memory with results, and workers use the room that there is."""
    seen, most = attempts(), scheduler.UNREAD * len(WORKERS)
    with closing(run_jobs([job(number) for number in range(50)], WORKERS)) as results:
        for n_taken, _ in enumerate(results):
            if n_taken < 5:
                wait_for(lambda allowed=n_taken + most: len(seen.seen) >= allowed, seconds=20)
                threading.Event().wait(0.05)  # one job too many, and all others, would begin now
            assert len(seen.seen) <= n_taken + most


def test_each_worker_runs_one_job_at_a_time(monkeypatch):
    busy, worst, lock = {worker.name: 0 for worker in WORKERS}, [], threading.Lock()

    def attempt(job, worker, *others):
        with lock:
            busy[worker.name] += 1
            worst.append(busy[worker.name])
        threading.Event().wait(0.001)
        with lock:
            busy[worker.name] -= 1
        return [result(cell, {"status": "ok"}) for cell in job.cells]

    monkeypatch.setattr(scheduler, "run_on_worker", attempt)
    assert len(list(run_jobs([job(number) for number in range(50)], WORKERS))) == 50
    assert set(worst) == {1}


def test_failed_cells_are_retried_alone_at_the_end(attempts):
    seen, told = attempts(s1=[FAILED], s4=[FAILED, FAILED | {"error": "again"}]), []
    jobs = [job(0, 1, 2), job(3), job(4), job(5)]
    outcomes = list(run_jobs(jobs, WORKERS, on_retry=told.append))
    assert statuses(outcomes) == {0: "ok", 1: "ok", 2: "ok", 3: "ok", 4: "failed", 5: "ok"}
    assert len(outcomes) == 6
    assert sorted(seen.splits[4:]) == [(1,), (4,)]
    assert {outcome.cell.split for outcome in outcomes[-2:]} == {1, 4}
    (row,) = [outcome.row for outcome in outcomes if outcome.cell.split == 4]
    assert row["error"] == "again"
    assert statuses(told) == {1: "failed", 4: "failed"}


@pytest.mark.parametrize(
    "row",
    [
        {"error_class": "SIGKILL", "error": "killed"},
        {"error_class": "MemoryError", "error": "no memory"},
        {"error_class": "numpy._core._exceptions._ArrayMemoryError", "error": "Unable to allocate"},
        {"error_class": "torch.OutOfMemoryError", "error": "CUDA out of memory"},
        {"error_class": "RuntimeError", "error": "DefaultCPUAllocator: can't allocate memory: you tried"},
    ],
)
def test_out_of_memory_cells_are_retried_alone(attempts, row):
    seen = attempts(s0=[FAILED | row], s1=[FAILED | row], s2=[FAILED])
    assert set(statuses(run_jobs([job(number) for number in range(4)], WORKERS)).values()) == {"ok"}
    assert [splits for splits, _, _ in seen.seen[4:]] == [(2,), (0,), (1,)] or seen.splits[4:] == [(2,), (1,), (0,)]
    assert {worker for _, worker, _ in seen.seen[5:]} == {"one"}


def test_out_of_memory_retries_use_a_quarter_stack(attempts, monkeypatch):
    made = attempts(s0=[FAILED | {"error_class": "MemoryError"}], s1=[FAILED])
    rows = {}

    def recorded(job, *others):
        rows.setdefault(job.cells[0].split, []).append(job.stack_rows)
        return made(job, *others)

    monkeypatch.setattr(scheduler, "run_on_worker", recorded)
    found = statuses(run_jobs([replace(job(0), stack_rows=150), replace(job(1), stack_rows=150)], WORKERS))
    assert found == {0: "ok", 1: "ok"}
    assert rows == {0: [150, 37], 1: [150, 150]}


def test_retry_restarts_tuning_only_for_diverged_cells(attempts, tmp_path):
    attempts(s0=[FAILED | {"status": "diverged"}], s1=[FAILED])
    jobs = [job(number, folder=tmp_path) for number in (0, 1)]
    for one in jobs:
        one.journals[0].touch()
    list(run_jobs(jobs, WORKERS))
    assert [one.journals[0].exists() for one in jobs] == [False, True]


def test_progress_is_reported_from_the_start_of_a_job(attempts):
    attempts()
    told = []
    list(run_jobs([job(0)], WORKERS, on_progress=lambda job, one: told.append((job, one))))
    assert told == [(job(0), JobProgress(0.0)), (job(0), JobProgress(0.5))]


def test_stopping_begins_no_job_and_no_retry(monkeypatch):
    stop, begun = Event(), []

    def attempt(job, *others):
        begun.append(job)
        stop.set()
        row = FAILED if job.cells[0].split == 0 else {"status": "ok"}
        return [result(cell, row) for cell in job.cells]

    monkeypatch.setattr(scheduler, "run_on_worker", attempt)
    outcomes = list(run_jobs([job(0), job(1), job(2)], WORKERS[:1], stop=stop))
    assert begun == [job(0)]
    assert outcomes == []


def test_closing_a_run_ends_its_running_jobs(monkeypatch):
    both_run, begun = threading.Barrier(2), []

    def attempt(job, worker, pool, timeout, on_progress):
        if pool._ended:
            raise Stopped
        begun.append(job.cells[0].split)
        if begun[-1] < 2:
            both_run.wait(10)
        if job.cells[0].split == 0:
            return [result(cell, {"status": "ok"}) for cell in job.cells]
        while not pool._ended:  # as a process does that is in the middle of a call
            threading.Event().wait(0.001)
        raise Stopped

    monkeypatch.setattr(scheduler, "run_on_worker", attempt)
    running = run_jobs([job(number) for number in range(9)], WORKERS)
    assert next(running).cell.split == 0
    threads = threading.active_count()
    running.close()
    assert set(begun) <= {0, 1, 2}
    assert threading.active_count() < threads


@pytest.mark.parametrize("n_workers", [1, 2])
def test_errors_outside_cells_end_the_run(monkeypatch, n_workers):
    def attempt(job, *others):
        raise NoProcess("no memory for a process")

    monkeypatch.setattr(scheduler, "run_on_worker", attempt)
    with pytest.raises(NoProcess, match="no memory for a process"):
        list(run_jobs([job(number) for number in range(9)], WORKERS[:n_workers]))


def test_scheduler_without_jobs_returns_nothing():
    assert list(run_jobs([], WORKERS)) == []
