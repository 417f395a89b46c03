"""Cells are batched into jobs for the workers of an invented machine, and no plan changes a result."""

from collections import Counter
from dataclasses import replace

import pytest

from lockstep_bench import datasets, methods
from lockstep_bench.bench.costs import workload as module
from lockstep_bench.bench.costs.batching import MIB, _rows_of
from lockstep_bench.bench.costs.calibration import Calibrations
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.costs.estimates import GUESSED, PROBED
from lockstep_bench.bench.costs.workload import (
    FIRST_LOOK_SECONDS,
    Surroundings,
    surroundings,
    workload,
    workload_elsewhere,
)
from lockstep_bench.bench.environment.machine import Machine
from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell, cells_of
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.shared.protocol import Protocol

GIB = 1024 * MIB
COST = Cost(1.0, 1e-5, 400 * MIB, 4 * MIB)
CPU = Surroundings(("cpu",), "cpu", 2, 16 * GIB)
GPUS = Surroundings(("cuda:0", "cuda:1"), "GPU", 8, 16 * GIB)


def cells(splits: int = 4) -> list[Cell]:
    return cells_of(
        "uci",
        ["yacht", "boston"],
        ["map", "vifa"],
        dict.fromkeys(("yacht", "boston"), range(splits)),
        "p",
        Protocol(),
        0,
    )


@pytest.fixture
def plan(tmp_path):
    """A workload, from costs by method; nothing has run before."""

    def make(todo, around, costs=None, **options):
        calibrations = Calibrations(Worker("a", around.kind, "0" if around.kind == "cuda" else None), tmp_path)
        for cell in todo:
            if costs and cell.method in costs:
                calibrations.keep(cell, costs[cell.method])
        rows = Results(tmp_path / "out").rows()
        return workload(todo, around, rows, calibrations=calibrations, **options)

    return make


def test_every_cell_is_in_one_job(plan):
    todo = cells()
    load = plan(todo, CPU)
    assert sorted(cell.key for job in load.planned for cell in job.cells) == sorted(cell.key for cell in todo)
    jobs = load.jobs(lambda cell: cell.key, None)
    assert [job.cells for job in jobs] == [job.cells for job in load.planned]
    assert [job.journals for job in jobs] == [tuple(cell.key for cell in job.cells) for job in load.planned]


def test_planning_more_splits_needs_no_further_registry_lookups(plan, monkeypatch):
    """A plan of 400,000 cells has 80,000 jobs, and 20,000 cells that differ in more than their split."""
    asked: Counter[str] = Counter()
    for registry, name in ((methods, "get"), (datasets, "entry")):
        original = getattr(registry, name)
        monkeypatch.setattr(registry, name, lambda key, of=original: asked.update([key]) or of(key))
    plan(cells(splits=1), CPU, {"map": COST, "vifa": COST})  # which keeps the costs

    def lookups(splits: int) -> Counter[str]:
        asked.clear()
        _rows_of.cache_clear()
        load = plan(cells(splits), CPU)
        assert {job.estimate.basis for job in load.planned} == {PROBED}
        return Counter(asked)

    few = lookups(splits=10)
    assert set(few) == {"map", "vifa", "yacht", "boston"}
    assert lookups(splits=20) == few


def test_longest_jobs_start_first(plan):
    load = plan(cells(), CPU, {"map": COST._replace(seconds=0.1), "vifa": COST._replace(seconds=0.9)})
    assert [job.cells[0].method for job in load.planned] == ["vifa", "vifa", "map", "map"]
    seconds = [job.estimate.seconds for job in load.planned]
    assert min(seconds) > 2 * FIRST_LOOK_SECONDS
    assert seconds == sorted(seconds, reverse=True)
    assert load.weights[load.planned[0].cells[0]] == pytest.approx(seconds[0] / 4)


def test_cheapest_jobs_run_before_the_longest_ones(plan, monkeypatch):
    load = plan(cells(), CPU)
    by_length = sorted(load.planned, key=lambda job: job.estimate.seconds)
    two, three = (sum(job.estimate.seconds for job in by_length[:n]) for n in (2, 3))
    monkeypatch.setattr(module, "FIRST_LOOK_SECONDS", (two + three) / 2 / len(load.workers))
    again = plan(cells(), CPU).planned
    assert [job.cells for job in again[:2]] == [job.cells for job in by_length[:2]]
    rest = [job.estimate.seconds for job in again[2:]]
    assert rest == sorted(rest, reverse=True)


def test_unmeasured_jobs_start_with_the_least_work(plan, monkeypatch):
    monkeypatch.setattr(module, "FIRST_LOOK_SECONDS", 3600)
    load = plan(cells(), CPU)
    assert [job.cells[0].dataset for job in load.planned] == ["yacht", "yacht", "boston", "boston"]
    assert {job.estimate.basis for job in load.planned} == {GUESSED}


def test_cores_memory_and_request_limit_cpu_workers(plan):
    assert len(plan(cells(), CPU).workers) == 2
    assert len(plan(cells(), CPU._replace(free_bytes=GIB)).workers) == 1
    assert len(plan(cells(), CPU, each=5).workers) == 5


def test_little_memory_makes_small_stacks(plan):
    # Half of 2000 MiB, of which 80 % may be used, less 400: 400 MiB for rows of 4.
    load = plan(cells(), CPU._replace(free_bytes=2000 * MIB), {"map": COST, "vifa": COST}, each=2)
    assert [job.rows for job in load.planned] == [100] * 4


def test_gpu_workers_share_memory_and_fill_their_stacks(plan):
    # 16 GiB among two workers on each: 6553 MiB may be used, less 600 for the context and 400: 1388 rows of 4, 9 cells.
    load = plan(cells(splits=20), GPUS, {"map": COST, "vifa": COST}, each=2)
    assert [worker.name for worker in load.workers] == ["cuda:0 0", "cuda:0 1", "cuda:1 0", "cuda:1 1"]
    assert not any(worker.exclusive for worker in load.workers)
    assert {job.rows for job in load.planned} == {1388}
    assert sorted({len(job.cells) for job in load.planned}) == [2, 9]


def test_probes_are_made_once_per_method_and_data_set(plan):
    asked = []

    def measure(calibrations, wanted, workers):
        asked.append(({(cell.method, cell.dataset) for cell in wanted}, len(workers)))
        for cell in wanted:
            calibrations.keep(cell, COST)

    load = plan(cells(), CPU, measure=measure)
    pairs = {(method, dataset) for method in ("map", "vifa") for dataset in ("boston", "yacht")}
    assert asked == [(pairs, 2)]
    assert {job.estimate.basis for job in load.planned} == {PROBED}
    plan(cells(), CPU, measure=measure)
    assert len(asked) == 1


def test_shortest_job_warms_up_every_worker(plan):
    load = plan(cells(splits=1), CPU, {"map": COST, "vifa": COST._replace(seconds=9e-3)}, each=1)
    warmed_up = load.warmed_up()
    (shortest,) = min(load.planned, key=lambda job: job.estimate.seconds).cells
    assert [job.cells for job in warmed_up.planned] == [
        (replace(shortest, seed=1),),
        *(job.cells for job in load.planned),
    ]
    assert warmed_up.weights[replace(shortest, seed=1)] == load.weights[shortest]
    two = plan(cells(splits=1), CPU, each=2).warmed_up()
    assert len({job.cells for job in two.planned[:2]}) == 2


def test_no_cells_make_no_jobs(plan):
    load = plan([], CPU)
    assert (load.planned, load.weights) == ([], {})


def test_cluster_jobs_are_full_stacks_cheapest_first(monkeypatch):
    monkeypatch.setattr(module, "FIRST_LOOK_SECONDS", 3600)
    load = workload_elsewhere(cells(), [Worker("a", "cuda", "0")])
    assert {job.rows for job in load.planned} == {4096}
    assert [job.cells[0].dataset for job in load.planned] == ["yacht", "yacht", "boston", "boston"]


def test_planning_uses_the_smallest_free_gpu_memory(monkeypatch):
    monkeypatch.setattr(module, "this_machine", lambda: Machine(6, 5 * GIB))
    monkeypatch.setattr(
        module, "_survey", lambda worker: {"cuda:0 0": ("A", 7 * GIB), "cuda:3 0": ("A", 3 * GIB)}[worker.name]
    )
    assert surroundings(["cpu"]) == (("cpu",), "cpu", 6, 5 * GIB)
    assert surroundings(["cuda:0", "cuda:3"]) == (("cuda:0", "cuda:3"), "A", 3, 3 * GIB)
    assert surroundings(["cuda:0", "cuda:3"]).kind == "cuda"


@pytest.mark.parametrize("method", ["vifa", "deep-ensemble"])
def test_job_and_stack_sizes_change_no_result(tmp_path, method):
    tiny = Protocol(epochs=1, batch_size=80, trials=2, folds=2, samples=5, validation_samples=5)
    pair = tuple(Cell("uci", "diabetes", method, split, "p", tiny, 0) for split in (0, 1))

    def numbers(name: str, *packs: tuple[Cell, ...], rows: int) -> dict:
        found = {}
        for pack in packs:
            job = Job(pack, tuple(tmp_path / name / f"{cell.split}.json" for cell in pack), None, rows)
            found |= {o.cell.split: (o.row["status"], o.row["nmll"], o.row["hparams"]) for o in run(job)}
        return found

    together = numbers("together", pair, rows=150)
    assert numbers("alone", pair[:1], pair[1:], rows=150) == together
    assert numbers("cut", pair, rows=6) == together
    assert {status for status, _, _ in together.values()} == {"ok"}
