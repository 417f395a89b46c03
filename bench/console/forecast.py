"""What a run will be like: who does what when, as far as it can be known before."""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from bench.costs.estimates import BASES, Estimate
from bench.experiment.cells import Cell

START_SECONDS = 4  # until a slot's process has imported what it needs and can begin; measured: 3 to 6


class Line(NamedTuple):
    """The jobs of one data set.

    Attributes:
        seconds: of all its jobs together; None if nothing is known.
        bytes: of the largest of them; None if none was measured.
        bases: what the seconds rest on, the best first.
    """

    dataset: str
    cells: int
    jobs: int
    seconds: float | None
    bytes: int | None
    bases: tuple[str, ...]


def makespan(seconds: Sequence[float], n_slots: int) -> float:
    """When the last of the jobs ends, each begun in the order given on the first slot that is free; 0 without jobs."""
    if not seconds:
        return 0.0
    free = [float(START_SECONDS)] * n_slots
    for one in seconds:
        heapq.heapreplace(free, free[0] + one)
    return max(free)


def lines(packs: Sequence[Sequence[Cell]], estimates: Sequence[Estimate]) -> list[Line]:
    """A line for each data set, in the order of their first job."""
    found = []
    for name in dict.fromkeys(pack[0].dataset for pack in packs):
        own = [(pack, one) for pack, one in zip(packs, estimates, strict=True) if pack[0].dataset == name]
        known = [one.seconds for _, one in own if one.seconds is not None]
        memory = [one.bytes for _, one in own if one.bytes is not None]
        bases = {one.basis for _, one in own if one.seconds is not None}
        found.append(
            Line(
                name,
                sum(len(pack) for pack, _ in own),
                len(own),
                sum(known) if known else None,
                max(memory, default=None),
                tuple(basis for basis in BASES if basis in bases),
            )
        )
    return found
