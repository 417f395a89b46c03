"""From cells to jobs: how many slots a device has room for, how many fits train together, which cells go side by side.

None of it changes a cell's result: a fit in a stack equals the same fit alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from math import ceil
from typing import NamedTuple

from bench.experiment.cells import Cell
from bench.experiment.suites import SUITES

MIB = 2**20
HEADROOM = 0.8  # of free memory, that is shared out: allocators leave holes, and other programs grow


class Need(NamedTuple):
    """Memory of a job, measured or assumed.

    Attributes:
        base: bytes of its process and data, without a fit.
        row: bytes of every fit that trains at the same time.
    """

    base: int
    row: int

    def bytes_with(self, rows: int) -> int:
        """Bytes of a job whose largest stack has so many rows."""
        return self.base + self.row * rows


class Room(NamedTuple):
    """What a kind of device bears.

    Attributes:
        rows: the most that a stack is worth: on a CPU core larger ones gain little and cost memory.
        worthwhile: rows of a stack for whose sake there had better be fewer slots.
        cells: the most in a job; more of them are lost at a stop.
        slots: the most on a device, or None for as many as there are cores.
        overhead: bytes that every process takes besides what it allocates, as a GPU's context.
    """

    rows: int
    worthwhile: int
    cells: int
    slots: int | None
    overhead: int


# A UCI cell of the papers' protocol fills a stack of 150. The GPU's numbers are reasoned, not measured: few processes,
# each with large stacks, because what a small network's kernels cost is their launch.
ROOM = {"cpu": Room(150, 30, 5, None, 0), "cuda": Room(4096, 150, 20, 3, 600 * MIB)}

ASSUMED = Need(600 * MIB, 4 * MIB)  # where nothing was measured: torch, data and a small network's fit, generously


def slots_per_device(kind: str, free_bytes: int, cores: int, needs: Sequence[tuple[Need, int]]) -> int:
    """How many slots a device of that kind gets.

    Args:
        free_bytes: of the device.
        cores: for its slots.
        needs: of every sort of job, with the rows that a stack of it has at most: a slot must have room for each, if
            with fewer rows than a stack could have.
    """
    room = ROOM[kind]
    largest = max((need.bytes_with(min(rows, room.worthwhile)) for need, rows in needs), default=ASSUMED.bytes_with(1))
    fitting = int(free_bytes * HEADROOM) // (largest + room.overhead)
    return max(1, min(fitting, cores, room.slots or cores))


def stack_rows(kind: str, share_bytes: int, need: Need) -> int:
    """The most rows of a stack in a slot with that share of its device's free memory; 1 at least."""
    room = ROOM[kind]
    left = int(share_bytes * HEADROOM) - room.overhead - need.base
    return max(1, min(room.rows, left // max(need.row, 1)))


def rows_of(cell: Cell) -> int:
    """Rows of the largest stack that a cell fills by itself; 0 where its fits are trained one after the other."""
    return SUITES[cell.suite].kind.rows_of(cell.method, cell.protocol)


def packs(
    cells: Sequence[Cell], kind: str, n_slots: int, rows: Callable[[Cell], int] | None = None
) -> list[tuple[Cell, ...]]:
    """The cells in packs that differ in their split alone, for one slot to train side by side.

    A pack leaves some cells for every slot. On a GPU it has as many as fill a stack of `rows(cell)`, for which there is
    memory; on a CPU, where stacks are soon full, side by side saves the overhead of small final fits. Where fits are
    trained one after the other a pack is one cell.
    """
    fair, found = ceil(len(cells) / n_slots), []
    for _, group in groupby(cells, key=lambda cell: replace(cell, split=0)):
        own = list(group)
        size = max(1, min(fair, _most_cells(own[0], kind, rows)))
        found += [tuple(own[first : first + size]) for first in range(0, len(own), size)]
    return found


def _most_cells(cell: Cell, kind: str, rows: Callable[[Cell], int] | None) -> int:
    """Of a pack."""
    alone, room = rows_of(cell), ROOM[kind]
    if not alone:
        return 1
    return room.cells if kind == "cpu" else min(room.cells, (rows(cell) if rows else room.rows) // alone)
