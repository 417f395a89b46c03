"""Slots, stacks and packs for memory sizes that are made up, worked out by hand."""

from dataclasses import replace

import pytest

from bench.costs.packing import ASSUMED, MIB, ROOM, Need, packs, rows_of, slots_per_device, stack_rows
from bench.experiment.cells import Cell, cells_of
from bench.experiment.protocol import Protocol
from bench.experiment.suites import SUITES

GIB = 1024 * MIB
PAPER = Cell("uci", "yacht", "vifa", 0, "paper", Protocol(), 0)  # 30 trials x 5 folds: 150 rows


def test_a_need_is_a_line():
    assert Need(100, 3).bytes_with(0) == 100
    assert Need(100, 3).bytes_with(7) == 121


# Slots: 80 % of what is free, over the largest job with 30 rows on a CPU, with 150 and 600 MiB of context on a GPU.


@pytest.mark.parametrize(
    ("free", "cores", "slots"),
    [
        (100 * GIB, 2, 2),  # cores are the limit
        (100 * GIB, 64, 64),
        (4 * GIB, 64, 3),  # 0.8 x 4096 = 3276 MiB, over 400 + 30 x 20 = 1000
        (2 * GIB, 64, 1),
        (10 * MIB, 64, 1),  # never none
    ],
)
def test_cpu_slots_by_cores_and_by_memory(free, cores, slots):
    assert (
        slots_per_device("cpu", free, cores, [(Need(400 * MIB, 20 * MIB), 150), (Need(300 * MIB, MIB), 150)]) == slots
    )


@pytest.mark.parametrize(
    ("free", "cores", "slots"),
    [
        (80 * GIB, 16, ROOM["cuda"].slots),
        (80 * GIB, 2, 2),
        (5 * GIB, 16, 2),  # 0.8 x 5120 = 4096 MiB, over 600 + 100 + 150 x 8 = 1900
        (2 * GIB, 16, 1),
    ],
)
def test_gpu_slots_leave_room_for_each_context(free, cores, slots):
    assert slots_per_device("cuda", free, cores, [(Need(100 * MIB, 8 * MIB), 4096)]) == slots


def test_a_network_that_is_trained_alone_needs_room_for_one():
    resnet = Need(1 * GIB, 10 * GIB)
    assert slots_per_device("cuda", 40 * GIB, 16, [(resnet, 1)]) == 2  # 32 over 0.586 + 1 + 10
    assert slots_per_device("cuda", 40 * GIB, 16, [(resnet, 1), (Need(0, GIB), 4096)]) == 1  # 150 small ones take 150


def test_without_measurements_a_generous_guess_stands():
    assert slots_per_device("cpu", 2 * ASSUMED.bytes_with(1) * 10 // 8, 64, []) == 2


# Rows: what is left of 80 % of the share, one at least and no more than are worth it.


@pytest.mark.parametrize(
    ("kind", "share", "need", "rows"),
    [
        ("cpu", 10 * GIB, Need(400 * MIB, MIB), 150),
        ("cpu", 1000 * MIB, Need(400 * MIB, 4 * MIB), 100),  # (800 - 400) / 4
        ("cpu", 100 * MIB, Need(400 * MIB, 4 * MIB), 1),
        ("cuda", 10 * GIB, Need(200 * MIB, 4 * MIB), 1848),  # (8192 - 600 - 200) / 4
        ("cuda", 80 * GIB, Need(200 * MIB, MIB), 4096),
        ("cuda", 80 * GIB, Need(200 * MIB, 0), 4096),
    ],
)
def test_rows_of_a_stack(kind, share, need, rows):
    assert stack_rows(kind, share, need) == rows


# Rows that one cell fills.


@pytest.mark.parametrize(
    ("cell", "rows"),
    [
        (PAPER, 150),
        (replace(PAPER, method="deep-ensemble"), 750),
        (replace(PAPER, method="ensemble:vifa"), 750),
        (replace(PAPER, protocol=SUITES["uci"].presets["tuned"]), 30),  # TPE's first round: 10 trials x 3 folds
        (replace(PAPER, protocol=Protocol(sampler="centre")), 1),
        (replace(PAPER, suite="images", dataset="mnist", method="map"), 0),
        (replace(PAPER, suite="factor-analysis", dataset="fa-D100-K10-spectrum1-10", method="batch-svd"), 1),
    ],
)
def test_rows_that_one_cell_fills(cell, rows):
    assert rows_of(cell) == rows


# Packs.


def yachts(count: int, **changes) -> list[Cell]:
    return [replace(PAPER, split=split, **changes) for split in range(count)]


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (4096, [20, 20]),  # 27 would fit, but no more than 20 are lost at a stop
        (1848, [12, 12, 12, 4]),  # 1848 / 150
        (299, [1] * 40),
        (100, [1] * 40),  # less than a cell fills: its stack is cut, not the pack
    ],
)
def test_a_gpu_job_has_as_many_splits_as_fill_its_stack(rows, sizes):
    assert [len(pack) for pack in packs(yachts(40), "cuda", 2, lambda cell: rows)] == sizes


def test_each_method_packs_by_its_own_memory():
    cells = yachts(8) + yachts(8, method="mfvi")
    found = packs(cells, "cuda", 1, lambda cell: {"vifa": 600, "mfvi": 1200}[cell.method])
    assert [(pack[0].method, len(pack)) for pack in found] == [("vifa", 4), ("vifa", 4), ("mfvi", 8)]


def test_networks_that_are_trained_alone_are_not_packed():
    cells = yachts(3, suite="images", dataset="mnist", method="map")
    assert [len(pack) for pack in packs(cells, "cuda", 1)] == [1, 1, 1]
    assert [len(pack) for pack in packs(cells, "cpu", 1)] == [1, 1, 1]


def test_packs_differ_in_their_split_alone_and_leave_no_cell_out():
    splits = {"yacht": tuple(range(7)), "protein": (1,)}
    found = cells_of("uci", ["yacht", "protein"], ["vifa", "mfvi"], splits, "paper", Protocol(), 5)
    packed = packs(found, "cpu", 2)
    assert sorted(map(len, packed)) == [1, 1, 2, 2, 5, 5]
    assert [cell for pack in packed for cell in pack] == found
    assert all(len({replace(cell, split=0) for cell in pack}) == 1 for pack in packed)


@pytest.mark.parametrize(("slots", "sizes"), [(1, [5]), (2, [3, 2]), (5, [1] * 5), (8, [1] * 5)])
def test_few_cells_are_shared_out_among_the_slots(slots, sizes):
    assert [len(pack) for pack in packs(yachts(5), "cpu", slots)] == sizes
