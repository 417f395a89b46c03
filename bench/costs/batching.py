"""Workers per device, replicas per stack, and cells per job, by memory and cores.

No choice of them changes a result: a fit in a stack equals the same fit alone.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from math import ceil
from typing import NamedTuple

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.shared.protocol import Protocol

MIB = 2**20
HEADROOM = 0.8  # share of free memory that is used: allocators leave holes, and other programs grow


class Need(NamedTuple):
    """Memory of a job, measured or assumed.

    Attributes:
        base: bytes of its process and data, without a fit.
        row: bytes of every fit that trains at the same time.
    """

    base: int
    row: int

    def bytes_with(self, rows: int) -> int:
        """Return the bytes of a job whose largest stack has `rows` replicas."""
        return self.base + self.row * rows


class Room(NamedTuple):
    """Limits of a kind of device.

    Attributes:
        rows: most replicas of a stack. On a CPU core larger stacks gain little and cost memory.
        worthwhile: replicas of a stack for which memory is kept by having fewer workers.
        cells: most cells of a job; a stop loses those of a whole job.
        workers: most workers on a device, or None for as many as there are cores.
        overhead: bytes that every process takes besides what it allocates, as for a GPU's context.
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
    """Return how many workers a device gets, at least 1.

    Args:
        kind: "cpu" or "cuda".
        free_bytes: free memory of the device.
        cores: CPU cores for its workers.
        needs: memory of every sort of job, and the most replicas that its stacks have. A worker has room for each sort,
            if with fewer replicas than a stack could have.
    """
    room = ROOM[kind]
    largest = max((need.bytes_with(min(rows, room.worthwhile)) for need, rows in needs), default=ASSUMED.bytes_with(1))
    fitting = int(free_bytes * HEADROOM) // (largest + room.overhead)
    return max(1, min(fitting, cores, room.workers or cores))


def stack_rows(kind: str, share_bytes: int, need: Need) -> int:
    """Return the most replicas of a stack, at least 1, of a worker with that share of its device's free memory."""
    room = ROOM[kind]
    left = int(share_bytes * HEADROOM) - room.overhead - need.base
    return max(1, min(room.rows, left // max(need.row, 1)))


def rows_of(cell: Cell) -> int:
    """Return the replicas of the largest stack that one cell fills; 0 where its fits are trained one by one."""
    return _rows_of(cell.suite, cell.method, cell.protocol)


@cache
def _rows_of(suite: str, method: str, protocol: Protocol) -> int:
    return SUITES[suite].kind.rows_of(method, protocol)


def batches(cells: Sequence[Cell], kind: str, n_workers: int, rows: Callable[[Cell], int]) -> list[tuple[Cell, ...]]:
    """Return the cells in batches, each for one job; the cells of a batch differ only in their split.

    Some cells are left for every worker. On a GPU a batch fills a stack of `rows(cell)` replicas, for which there is
    memory. On a CPU, where one cell fills a stack, a batch saves the overhead of small final fits. Where fits are
    trained one by one, a batch is one cell, and also under a budget of seconds, which is meant for a single split.
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
