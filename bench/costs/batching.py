"""Choice of the number of workers per device, replicas per stack, and cells per job, by memory and cores.

These numbers never change a result, because a fit in a stack equals the same fit trained alone.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from math import ceil
from typing import NamedTuple

from lockstep_bench.bench.experiment.answers import answer
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.shared.protocol import Protocol

MIB = 2**20
HEADROOM = 0.8  # share of free memory that is used: allocators leave holes, and other programs grow


class Need(NamedTuple):
    """Memory of a job, measured or assumed.

    Attributes:
        base: bytes of the process and its data, without any fit.
        row: further bytes for each fit that is trained at the same time (a row of the stack).
    """

    base: int
    row: int

    def bytes_with(self, rows: int) -> int:
        """Return the bytes of a job whose largest stack has `rows` replicas."""
        return self.base + self.row * rows


class Room(NamedTuple):
    """Limits for the workers on one kind of device, CPU or GPU.

    Attributes:
        rows: largest number of replicas in a stack. On a CPU core, larger stacks gain little speed and cost memory.
        worthwhile: number of replicas that every worker should have memory for, even if fewer workers then fit.
        cells: largest number of cells in a job. If a run is stopped, all cells of its running jobs are lost.
        workers: largest number of workers on a device; None for as many as there are cores.
        overhead: bytes that each process takes besides its own allocations, for example for a GPU context.
    """

    rows: int
    worthwhile: int
    cells: int
    workers: int | None
    overhead: int


# A UCI cell of the papers' protocol fills a stack of 150. The GPU's numbers are reasoned, not measured: few processes,
# each with large stacks, because launching a small network's kernels costs more than running them.
ROOM = {"cpu": Room(150, 30, 5, None, 0), "cuda": Room(4096, 150, 20, 3, 600 * MIB)}

ASSUMED = Need(600 * MIB, 4 * MIB)  # where nothing was measured: torch, data and a small network's fit, generously


def workers_per_device(kind: str, free_bytes: int, cores: int, needs: Sequence[tuple[Need, int]]) -> int:
    """Return how many workers a device gets, at least 1: as many as fit into memory, but at most one per core.

    Args:
        kind: "cpu" or "cuda".
        free_bytes: free memory of the device.
        cores: CPU cores for its workers.
        needs: for each sort of job, its memory and the largest number of replicas in its stacks. Every worker gets
            memory for every sort of job, possibly with fewer replicas per stack than this number.
    """
    room = ROOM[kind]
    largest = max((need.bytes_with(min(rows, room.worthwhile)) for need, rows in needs), default=ASSUMED.bytes_with(1))
    fitting = int(free_bytes * HEADROOM) // (largest + room.overhead)
    return max(1, min(fitting, cores, room.workers or cores))


def stack_rows(kind: str, share_bytes: int, need: Need) -> int:
    """Return how many replicas a worker's stacks may have, at least 1, given its share of the device's memory."""
    room = ROOM[kind]
    left = int(share_bytes * HEADROOM) - room.overhead - need.base
    return max(1, min(room.rows, left // max(need.row, 1)))


def rows_of(cell: Cell) -> int:
    """Return the number of replicas in the largest stack of one cell; 0 if its fits are trained one by one."""
    return _rows_of(cell.suite, cell.method, cell.protocol)


@cache
def _rows_of(suite: str, method: str, protocol: Protocol) -> int:
    return answer(_rows_of_kind, suite, method, protocol)


def _rows_of_kind(suite: str, method: str, protocol: Protocol) -> int:
    return SUITES[suite].kind.rows_of(method, protocol)


def batches(cells: Sequence[Cell], kind: str, n_workers: int, rows: Callable[[Cell], int]) -> list[tuple[Cell, ...]]:
    """Divide cells into batches, one for each job; the cells of a batch differ only in their split.

    Batches are small enough that every worker gets some. On a GPU a batch fills a stack of `rows(cell)` replicas, as
    many as fit into memory. On a CPU the trials of one cell fill a stack, but final fits are few, so a batch trains
    those of several cells together. A batch is a single cell if fits are trained one by one, and if the protocol has
    a budget of seconds, which holds for each split.
    """
    fair, room = ceil(len(cells) / n_workers), ROOM[kind]
    jobs: list[tuple[Cell, ...]] = []
    for _, group in groupby(cells, key=_but_for_its_split):
        members = list(group)
        alone = rows_of(members[0])
        fitting = (
            1
            if not alone or members[0].protocol.budget_seconds
            else room.cells
            if kind == "cpu"
            else rows(members[0]) // alone
        )
        size = max(1, min(fair, room.cells, fitting))
        jobs += [tuple(members[start : start + size]) for start in range(0, len(members), size)]
    return jobs


def _but_for_its_split(cell: Cell) -> tuple[object, ...]:
    return cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol, cell.seed
