"""Jobs on real processes: whatever happens to one, each of its cells has a row that says so."""

import dataclasses
import pickle
from functools import partial

import pyarrow as pa
import pytest

from lockstep_bench.bench.execution import spare_process
from lockstep_bench.bench.execution.pool import NoProcess, Pool, run_on_worker
from lockstep_bench.bench.execution.returned import result_of_lost_process
from lockstep_bench.bench.execution.supervisor import Died, Stopped
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.protocol import Protocol

TINY = Protocol(epochs=1, batch_size=100, trials=1, folds=2, samples=5, validation_samples=5)
ALONE, SHARED = Worker("alone"), Worker("shared", neighbours=1)


@pytest.fixture
def job(tmp_path):
    def make(method: str, *splits: int) -> Job:
        cells = tuple(Cell("uci", "diabetes", method, split, "tiny", TINY, seed=0) for split in splits)
        return Job(cells, tuple(tmp_path / f"{method}-{split}.json" for split in splits), None)

    return make


@pytest.fixture
def pool():
    made = Pool()
    yield made
    made.end()


def test_worker_process_is_replaced_after_crash_or_timeout(faulty, job, pool):
    told = []
    (first,) = run_on_worker(job("map", 0), ALONE, on_progress=told.append, pool=pool)
    pid = pool.process_of(ALONE)[0].pid
    (second,) = run_on_worker(job("map", 1), ALONE, timeout=60, pool=pool)
    assert pool.process_of(ALONE)[0].pid == pid
    for outcome in (first, second):
        assert (outcome.row["status"], outcome.row["exclusive"], outcome.row["log"]) == ("ok", True, None)

    pair = run_on_worker(job("kill", 0, 1), ALONE, pool=pool)
    assert [outcome.cell.split for outcome in pair] == [0, 1]
    for outcome in pair:
        row = outcome.row
        assert row["status"] == "failed"
        assert row["error"] == "its process was killed by SIGKILL"
        assert row["error_class"] == "SIGKILL"
        assert "about to die" in row["log"]
        assert row["elapsed_seconds"] > 0
        assert row["device"] == first.row["device"] == "cpu"
        pa.Table.from_pylist([row], schema=CELLS)

    (third,) = run_on_worker(job("map", 2), SHARED, pool=pool)
    assert (third.row["status"], third.row["exclusive"]) == ("ok", False)

    (late,) = run_on_worker(job("hang", 0), SHARED, timeout=4, pool=pool)
    row = late.row
    assert (row["status"], row["error_class"]) == ("timeout", "Timeout")
    assert row["error"] == "not done after 4 seconds, the time limit"
    assert "about to hang" in row["log"]
    assert "faulty.py" in row["log"]
    assert row["elapsed_seconds"] >= 4
    pa.Table.from_pylist([row], schema=CELLS)


class Unlucky:
    """Stands for `Supervised`: what becomes of its calls is given."""

    alive, ends = True, 0

    def __init__(self, environment, imported=()):
        self.environment = environment

    def call(self, function, *arguments, limit, **others):
        self.limit = limit
        raise Died(-11)

    def log(self):
        return "last words"

    def end(self):
        type(self).ends += 1


def test_worker_processes_failing_to_start_are_reported(monkeypatch, job, pool):
    monkeypatch.setattr(spare_process, "Supervised", Unlucky)
    with pytest.raises(NoProcess, match=r"3 processes of the worker 'alone' .* SIGSEGV\nlast words"):
        run_on_worker(job("map", 0), ALONE, pool=pool)


def test_time_limit_of_a_job_sums_its_cells_limits(monkeypatch, job, pool):
    process = Unlucky({})
    monkeypatch.setattr(pool, "process_of", lambda worker: (process, "cpu"))
    run_on_worker(job("map", 0, 1, 2), ALONE, timeout=10, pool=pool)
    assert process.limit == 30


class Foreign(Unlucky):
    """Returns or raises what is given."""

    def __init__(self, outcome):
        self.outcome = outcome

    def call(self, function, *arguments, limit, **others):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_finished_cells_keep_only_their_jobs_log(monkeypatch, job, pool):
    """The log of another call is all that its process wrote."""
    ended = {0: "ok", 1: "failed"}
    results = [
        dataclasses.replace(result_of_lost_process(cell, "cpu", Outcome(status=ended[cell.split]), 1.0), log="slow")
        for cell in job("map", 0, 1).cells
    ]
    monkeypatch.setattr(pool, "process_of", lambda worker: (Foreign(results), "cpu"))
    assert [result.log for result in run_on_worker(job("map", 0, 1), ALONE, pool=pool)] == ["slow", "last words"]


@pytest.mark.parametrize("outcome", [None, [], [None, None], "ok"])
def test_job_returning_wrong_cells_fails(monkeypatch, job, pool, outcome):
    monkeypatch.setattr(pool, "process_of", lambda worker: (Foreign(outcome), "cpu"))
    rows = [result.row for result in run_on_worker(job("map", 0, 1), ALONE, pool=pool)]
    assert [(row["split"], row["status"], row["log"]) for row in rows] == [
        (0, "failed", "last words"),
        (1, "failed", "last words"),
    ]
    assert "its process returned something else than the results of these cells" in rows[0]["error"]


def test_job_returning_the_previous_jobs_results_fails(monkeypatch, job, pool):
    before = [result_of_lost_process(cell, "cpu", Outcome(status="failed"), 1.0) for cell in job("kill", 0).cells]
    monkeypatch.setattr(pool, "process_of", lambda worker: (Foreign(before), "cpu"))
    (result,) = run_on_worker(job("map", 0), ALONE, pool=pool)
    assert (result.cell.method, result.status) == ("map", "failed")


def test_any_exception_in_a_worker_fails_its_cells(monkeypatch, job, pool):
    monkeypatch.setattr(pool, "process_of", lambda worker: (Foreign(OSError(24, "Too many open files")), "cpu"))
    (result,) = run_on_worker(job("map", 0), ALONE, pool=pool)
    assert (result.row["status"], result.row["error_class"]) == ("failed", "OSError")
    assert "Too many open files" in result.row["error"]


def test_closed_pool_starts_no_process(job, pool):
    pool.end()
    with pytest.raises(Stopped):
        run_on_worker(job("map", 0), ALONE, pool=pool)


def test_job_function_can_be_pickled_for_another_machine(job):
    """joblib's dask backend makes the function on one machine; another machine runs it in processes of its own."""
    sent = pickle.loads(pickle.dumps(partial(run_on_worker, job("map", 0, 1), SHARED, 60.0)))
    assert sent.func is run_on_worker
    assert sent.args == (job("map", 0, 1), SHARED, 60.0)
