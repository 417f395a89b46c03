"""Cells on real worker processes: a death costs its own cell only."""

import textwrap

import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from bench.cells import Cell
from bench.pack import Job
from bench.progress import Told
from bench.protocol import Protocol
from bench.scheduler import marker_of, run_jobs, told
from methods import registry

TINY = Protocol(epochs=1, batch_size=100, trials=1, folds=2, samples=5, validation_samples=5)
PLUGIN = '''
"""Kill: dies by SIGKILL, always or the first time only."""
import os, signal
from pathlib import Path
from methods.map import MAP

class Kill(MAP):
    name = "kill"

    def init(self, problem, hparams, noise):
        os.kill(os.getpid(), signal.SIGKILL)

class KillOnce(MAP):
    name = "kill-once"

    def init(self, problem, hparams, noise):
        mark = Path(__file__).with_name("died")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().init(problem, hparams, noise)
'''


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed package with two methods that kill their process."""
    site = tmp_path / "site"
    info = site / "killers-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "killers.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: killers\nVersion: 1.0\n")
    points = f"""
        [{registry.GROUP}]
        kill = killers:Kill
        kill-once = killers:KillOnce
    """
    (info / "entry_points.txt").write_text(textwrap.dedent(points))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site))
    registry._targets.cache_clear()
    yield
    registry._targets.cache_clear()


def job(method: str, split: int, folder) -> Job:
    cell = Cell("uci", "diabetes", method, split, "tiny", TINY, seed=0)
    return Job((cell,), (folder / f"{method}-{split}.jsonl",), None, "cpu")


def test_a_worker_that_dies_loses_its_own_cell_only(plugin, tmp_path):
    jobs = [job("map", 0, tmp_path), job("kill", 0, tmp_path), job("kill-once", 0, tmp_path), job("map", 1, tmp_path)]
    rows = {(o.cell.method, o.cell.split): o.row for o in run_jobs(jobs, workers=2)}
    assert {key: row["status"] for key, row in rows.items()} == {
        ("map", 0): "ok",
        ("map", 1): "ok",
        ("kill-once", 0): "ok",
        ("kill", 0): "failed",
    }
    assert "the worker process died twice" in rows["kill", 0]["error"]
    assert not list(tmp_path.glob("*.running"))


def test_a_death_side_by_side_costs_the_cells_that_die_alone_too(plugin, tmp_path):
    cells = [job("kill-once", split, tmp_path) for split in (0, 1)]
    pack = Job(tuple(one.cells[0] for one in cells), tuple(one.journals[0] for one in cells), None, "cpu")
    rows = {outcome.cell.split: outcome.row for outcome in run_jobs([pack, job("map", 0, tmp_path)], workers=2)}
    assert {split: row["status"] for split, row in rows.items()} == {0: "ok", 1: "ok"}
    assert not list(tmp_path.glob("*.running"))


def test_one_worker_and_two_give_the_same_rows(tmp_path):
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        jobs = [job("map", split, folder) for split in (0, 1)]
        found.append({o.cell.split: (o.row["nmll"], o.row["hparams"]) for o in run_jobs(jobs, workers)})
    assert found[0] == found[1]


def test_workers_that_die_before_any_cell_end_the_run(tmp_path, monkeypatch):
    def dies(jobs, workers):
        raise TerminatedWorkerError("no memory for a worker")
        yield

    monkeypatch.setattr("bench.scheduler._on_processes", dies)
    with pytest.raises(TerminatedWorkerError, match="no memory for a worker"):
        next(run_jobs([job("map", 0, tmp_path)], workers=2))


def test_a_half_written_or_absent_progress_counts_as_none(tmp_path):
    one = job("map", 0, tmp_path)
    assert told(one) == Told(0)
    marker_of(one).write_text('[0.25, "sampl')
    assert told(one) == Told(0)
    marker_of(one).write_text('[0.25, "sampling", 0.5]')
    assert told(one) == Told(0.25, "sampling", 0.5)
