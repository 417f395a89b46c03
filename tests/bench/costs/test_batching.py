"""Workers, stacks and batches for memory sizes that are made up, worked out by hand."""

from dataclasses import replace

import pytest

from lockstep_bench.bench.costs.batching import (
    ASSUMED,
    MIB,
    ROOM,
    Need,
    batches,
    rows_of,
    stack_rows,
    workers_per_device,
)
from lockstep_bench.bench.experiment.cells import Cell, cells_of
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.shared.protocol import Protocol

GIB = 1024 * MIB
PAPER = Cell("uci", "yacht", "vifa", 0, "paper", Protocol(), 0)  # 30 trials x 5 folds: 150 rows


def test_memory_need_is_linear_in_stacked_fits():
    assert Need(100, 3).bytes_with(0) == 100
    assert Need(100, 3).bytes_with(7) == 121


# Workers: 80 % of what is free, over the largest job with 30 rows on a CPU, with 150 and 600 MiB of context on a GPU.


@pytest.mark.parametrize(
    ("free", "cores", "workers"),
    [
        (100 * GIB, 2, 2),  # cores are the limit
        (100 * GIB, 64, 64),
        (4 * GIB, 64, 3),  # 0.8 x 4096 = 3276 MiB, over 400 + 30 x 20 = 1000
        (2 * GIB, 64, 1),
        (10 * MIB, 64, 1),  # never none
    ],
)
def test_cores_and_free_memory_limit_cpu_workers(free, cores, workers):
    assert (
        workers_per_device("cpu", free, cores, [(Need(400 * MIB, 20 * MIB), 150), (Need(300 * MIB, MIB), 150)])
        == workers
    )


@pytest.mark.parametrize(
    ("free", "cores", "workers"),
    [
        (80 * GIB, 16, ROOM["cuda"].workers),
        (80 * GIB, 2, 2),
        (5 * GIB, 16, 2),  # 0.8 x 5120 = 4096 MiB, over 600 + 100 + 150 x 8 = 1900
        (2 * GIB, 16, 1),
    ],
)
def test_gpu_workers_leave_memory_for_cuda_contexts(free, cores, workers):
    assert workers_per_device("cuda", free, cores, [(Need(100 * MIB, 8 * MIB), 4096)]) == workers


def test_large_network_job_needs_memory_for_one_fit():
    resnet = Need(1 * GIB, 10 * GIB)
    assert workers_per_device("cuda", 40 * GIB, 16, [(resnet, 1)]) == 2  # 32 over 0.586 + 1 + 10
    assert workers_per_device("cuda", 40 * GIB, 16, [(resnet, 1), (Need(0, GIB), 4096)]) == 1  # 150 small ones take 150


def test_unmeasured_memory_need_is_assumed():
    assert workers_per_device("cpu", 2 * ASSUMED.bytes_with(1) * 10 // 8, 64, []) == 2


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
def test_memory_limits_the_fits_per_stack(kind, share, need, rows):
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
        (replace(PAPER, suite="decisions", dataset="wheel-0.5", method="deep-ensemble"), 5),
        (replace(PAPER, suite="decisions", dataset="wheel-0.5", method="hmc"), 0),
        (replace(PAPER, suite="factor-analysis", dataset="fa-D100-K10-spectrum1-10", method="batch-svd"), 1),
    ],
)
def test_one_cell_fills_trials_times_folds_replicas(cell, rows):
    assert rows_of(cell) == rows


# Batches.


def full(cell: Cell) -> int:
    """Memory for the largest stacks."""
    return 4096


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
def test_gpu_job_takes_splits_until_its_stack_is_full(rows, sizes):
    assert [len(batch) for batch in batches(yachts(40), "cuda", 2, lambda cell: rows)] == sizes


def test_job_sizes_depend_on_each_methods_memory_need():
    cells = yachts(8) + yachts(8, method="mfvi")
    found = batches(cells, "cuda", 1, lambda cell: {"vifa": 600, "mfvi": 1200}[cell.method])
    assert [(batch[0].method, len(batch)) for batch in found] == [("vifa", 4), ("vifa", 4), ("mfvi", 8)]


def test_large_networks_get_jobs_of_one_cell():
    cells = yachts(3, suite="images", dataset="mnist", method="map")
    assert [len(batch) for batch in batches(cells, "cuda", 1, full)] == [1, 1, 1]
    assert [len(batch) for batch in batches(cells, "cpu", 1, full)] == [1, 1, 1]


def test_jobs_combine_cells_that_differ_only_in_split():
    splits = {"yacht": tuple(range(7)), "protein": (1,)}
    found = cells_of("uci", ["yacht", "protein"], ["vifa", "mfvi"], splits, "paper", Protocol(), 5)
    grouped = batches(found, "cpu", 2, full)
    assert sorted(map(len, grouped)) == [1, 1, 2, 2, 5, 5]
    assert [cell for batch in grouped for cell in batch] == found
    assert all(len({replace(cell, split=0) for cell in batch}) == 1 for batch in grouped)


@pytest.mark.parametrize(("workers", "sizes"), [(1, [5]), (2, [3, 2]), (5, [1] * 5), (8, [1] * 5)])
def test_few_cells_are_spread_over_all_workers(workers, sizes):
    assert [len(batch) for batch in batches(yachts(5), "cpu", workers, full)] == sizes
