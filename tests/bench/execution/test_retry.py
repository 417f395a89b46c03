"""Jobs on real processes: whatever happens to one, each of its cells has a row that says so."""

import pickle
from functools import partial

import pyarrow as pa
import pytest

from bench.execution import retry as module
from bench.execution.retry import Crew, NoProcess, attempt
from bench.execution.supervisor import Died, Stopped
from bench.execution.workers import Slot
from bench.experiment.cells import Cell
from bench.experiment.jobs import Job
from bench.experiment.protocol import Protocol
from bench.schema import CELLS

TINY = Protocol(epochs=1, batch_size=100, trials=1, folds=2, samples=5, validation_samples=5)
ALONE, SHARED = Slot("alone"), Slot("shared", neighbours=1)


@pytest.fixture
def job(tmp_path):
    def make(method: str, *splits: int) -> Job:
        cells = tuple(Cell("uci", "diabetes", method, split, "tiny", TINY, seed=0) for split in splits)
        return Job(cells, tuple(tmp_path / f"{method}-{split}.jsonl" for split in splits), None)

    return make


@pytest.fixture
def crew():
    made = Crew()
    yield made
    made.end()


def test_a_process_runs_job_after_job_until_one_kills_it_or_hangs(faulty, job, crew):
    told = []
    (first,) = attempt(job("map", 0), ALONE, tell=told.append, crew=crew)
    pid = crew.of(ALONE)[0].pid
    (second,) = attempt(job("map", 1), ALONE, timeout=60, crew=crew)
    assert crew.of(ALONE)[0].pid == pid
    for outcome in (first, second):
        assert (outcome.row["status"], outcome.row["exclusive"], outcome.row["log"]) == ("ok", True, None)

    pair = attempt(job("kill", 0, 1), ALONE, crew=crew)
    assert [outcome.cell.split for outcome in pair] == [0, 1]
    for outcome in pair:
        row = outcome.row
        assert row["status"] == "failed"
        assert row["error"] == "its process was killed by SIGKILL (out of memory?)"
        assert row["error_class"] == "SIGKILL"
        assert "about to die" in row["log"]
        assert row["elapsed_seconds"] > 0
        assert row["device"] == first.row["device"] == "cpu"
        pa.Table.from_pylist([row], schema=CELLS)

    (third,) = attempt(job("map", 2), SHARED, crew=crew)
    assert (third.row["status"], third.row["exclusive"]) == ("ok", False)

    (late,) = attempt(job("hang", 0), SHARED, timeout=4, crew=crew)
    row = late.row
    assert (row["status"], row["error_class"]) == ("timeout", "Overdue")
    assert row["error"] == "not done after 4 seconds, which is what is allowed"
    assert "about to hang" in row["log"]
    assert "faulty.py" in row["log"]
    assert 4 <= row["elapsed_seconds"] < 30
    pa.Table.from_pylist([row], schema=CELLS)


class Unlucky:
    """Stands for `Supervised`: what becomes of its calls is given."""

    alive, ends = True, 0

    def __init__(self, environment):
        self.environment = environment

    def call(self, function, *arguments, limit, **others):
        self.limit = limit
        raise Died(-11)

    def log(self):
        return "last words"

    def end(self):
        type(self).ends += 1


def test_processes_that_never_begin_are_told_with_their_last_words(monkeypatch, job, crew):
    monkeypatch.setattr(module, "Supervised", Unlucky)
    with pytest.raises(NoProcess, match=r"3 processes for the slot 'alone' .* SIGSEGV\nlast words"):
        attempt(job("map", 0), ALONE, crew=crew)


def test_cells_side_by_side_have_the_sum_of_their_times(monkeypatch, job, crew):
    process = Unlucky({})
    monkeypatch.setattr(crew, "of", lambda slot: (process, "cpu"))
    attempt(job("map", 0, 1, 2), ALONE, timeout=10, crew=crew)
    assert process.limit == 30


def test_a_crew_that_has_ended_starts_nothing(job, crew):
    crew.end()
    with pytest.raises(Stopped):
        attempt(job("map", 0), ALONE, crew=crew)


def test_an_attempt_can_be_sent_to_another_machine(job):
    """Where joblib's dask backend makes it; it has its processes there."""
    sent = pickle.loads(pickle.dumps(partial(attempt, job("map", 0, 1), SHARED, 60.0)))
    assert sent.func is attempt
    assert sent.args == (job("map", 0, 1), SHARED, 60.0)
