"""From cells to jobs on slots of a machine that is made up; and that no plan changes a result."""

from dataclasses import replace

import pytest

from bench.costs import workload as module
from bench.costs.calibration import Calibrations
from bench.costs.cost import Cost
from bench.costs.packing import MIB
from bench.costs.workload import Surroundings, surroundings, workload
from bench.environment.machine import Machine
from bench.execution.run import run
from bench.execution.workers import Slot
from bench.experiment.cells import Cell, cells_of
from bench.experiment.jobs import Job
from bench.experiment.protocol import Protocol
from bench.results.folder import Results

GIB = 1024 * MIB
COST = Cost(1.0, 0.0, 0.0, 0.0, 0.0, 400 * MIB, 4 * MIB, 0.9, 0.1, trials=30, fits_per_trial=5)
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
        calibrations = Calibrations(Slot("a", around.kind, "0" if around.kind == "cuda" else None), tmp_path)
        for cell in todo:
            if costs and cell.method in costs:
                calibrations._keep(cell, costs[cell.method])
        rows = Results(tmp_path / "out").rows()
        return workload(todo, around, rows, calibrations=calibrations, **options)

    return make


def test_every_cell_is_in_one_job(plan):
    todo = cells()
    load = plan(todo, CPU)
    assert sorted(cell.key for pack in load.packs for cell in pack) == sorted(cell.key for cell in todo)
    jobs = load.jobs(lambda cell: cell.key, None)
    assert [job.cells for job in jobs] == load.packs
    assert [job.journals for job in jobs] == [tuple(cell.key for cell in pack) for pack in load.packs]


def test_the_longest_job_is_first_whatever_its_data(plan):
    load = plan(cells(), CPU, {"map": COST, "vifa": replace(COST, setup=5.0)})
    assert [pack[0].method for pack in load.packs] == ["vifa", "vifa", "map", "map"]
    seconds = [one.seconds for one in load.estimates]
    assert seconds == sorted(seconds, reverse=True)
    assert load.weights[load.packs[0][0]] == pytest.approx(seconds[0] / 4)


def test_where_nothing_is_known_work_is_the_order_and_the_weight(plan):
    load = plan(cells(), CPU)
    assert [pack[0].dataset for pack in load.packs] == ["boston", "boston", "yacht", "yacht"]
    assert load.weights is None


def test_a_cpu_gets_a_slot_for_each_core_unless_memory_or_the_user_says_otherwise(plan):
    assert len(plan(cells(), CPU).slots) == 2
    assert len(plan(cells(), CPU._replace(free_bytes=GIB)).slots) == 1
    assert len(plan(cells(), CPU, each=5).slots) == 5


def test_little_memory_makes_small_stacks_and_not_fewer_jobs(plan):
    # Half of 2000 MiB, of which 80 % may be used, less 400: 400 MiB for rows of 4.
    load = plan(cells(), CPU._replace(free_bytes=2000 * MIB), {"map": COST, "vifa": COST}, each=2)
    assert load.rows == [100] * 4


def test_gpus_share_their_memory_among_their_slots_and_fill_stacks_with_splits(plan):
    # 16 GiB among two slots on each: 6553 MiB may be used, less 600 for the context and 400: 1388 rows of 4, 9 cells.
    load = plan(cells(splits=20), GPUS, {"map": COST, "vifa": COST}, each=2)
    assert [slot.name for slot in load.slots] == ["cuda:0 0", "cuda:0 1", "cuda:1 0", "cuda:1 1"]
    assert not any(slot.exclusive for slot in load.slots)
    assert set(load.rows) == {1388}
    assert sorted({len(pack) for pack in load.packs}) == [2, 9]


def test_what_is_worth_a_probe_is_asked_for_and_then_known(plan):
    asked = []

    def measure(calibrations, wanted, slots):
        asked.append(({(cell.method, cell.dataset) for cell in wanted}, len(slots)))
        for cell in wanted:
            calibrations._keep(cell, COST)

    load = plan(cells(), CPU, measure=measure)
    assert asked == [({(method, name) for method in ("map", "vifa") for name in ("yacht", "boston")}, 2)]
    assert all(one.seconds is not None for one in load.estimates)
    plan(cells(), CPU, measure=measure)
    assert len(asked) == 1


def test_the_shortest_job_rehearses_on_every_slot_as_other_cells(plan):
    load = plan(cells(splits=1), CPU, {"map": COST, "vifa": replace(COST, setup=5.0)}, each=1)
    rehearsed = load.rehearsed()
    (shortest,) = load.packs[-1]
    assert rehearsed.packs == [(replace(shortest, seed=1),), *load.packs]
    assert len(rehearsed.jobs(lambda cell: cell.key, None)) == len(load.packs) + 1
    assert rehearsed.weights[replace(shortest, seed=1)] == load.weights[shortest]
    two = plan(cells(splits=1), CPU, each=2).rehearsed()
    assert len({pack[0] for pack in two.packs[:2]}) == 2


def test_no_work_is_no_jobs(plan):
    load = plan([], CPU)
    assert (load.packs, load.weights) == ([], {})


def test_the_machine_is_asked_once_in_one_place(monkeypatch):
    monkeypatch.setattr(module, "this_machine", lambda: Machine(6, 5 * GIB))
    monkeypatch.setattr(
        module, "_survey", lambda slot: {"cuda:0 0": ("A", 7 * GIB), "cuda:3 0": ("A", 3 * GIB)}[slot.name]
    )
    assert surroundings(["cpu"]) == (("cpu",), "cpu", 6, 5 * GIB)
    assert surroundings(["cuda:0", "cuda:3"]) == (("cuda:0", "cuda:3"), "A", 3, 3 * GIB)
    assert surroundings(["cuda:0", "cuda:3"]).kind == "cuda"


@pytest.mark.parametrize("method", ["vifa", "deep-ensemble"])
def test_how_cells_are_packed_and_stacks_are_cut_changes_no_result(tmp_path, method):
    tiny = Protocol(epochs=1, batch_size=80, trials=2, folds=2, samples=5, validation_samples=5)
    pair = tuple(Cell("uci", "diabetes", method, split, "p", tiny, 0) for split in (0, 1))

    def numbers(name: str, *packs: tuple[Cell, ...], rows: int) -> dict:
        found = {}
        for pack in packs:
            job = Job(pack, tuple(tmp_path / name / f"{cell.split}.jsonl" for cell in pack), None, rows)
            found |= {o.cell.split: (o.row["status"], o.row["nmll"], o.row["hparams"]) for o in run(job)}
        return found

    together = numbers("together", pair, rows=150)
    assert numbers("alone", pair[:1], pair[1:], rows=150) == together
    assert numbers("cut", pair, rows=6) == together
    assert {status for status, _, _ in together.values()} == {"ok"}
