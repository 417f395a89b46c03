"""Cost of a cell, as a probe measures it."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from lockstep_bench.bench.costs.batching import Need, rows_of
from lockstep_bench.bench.experiment.cells import Cell


class Cost(NamedTuple):
    """Measured cost of one cell of a method on a data set.

    Attributes:
        work: `Cell.work` of the cell; seconds of cells under longer or shorter protocols are in proportion.
        job_seconds: seconds that a job takes once, to trace updates. Compiled loops stay in a cache and do not count.
        stack_seconds: the part of the seconds of the cell's stacks that does not depend on their number of replicas.
            There is a stack per round of tuning, and one for the final fit.
        cell_seconds: all other seconds, which add up over the cells of a job.
        base_bytes: memory of a process with its data, without a fit.
        row_bytes: memory of every fit that trains at the same time.
    """

    work: float
    job_seconds: float
    stack_seconds: float
    cell_seconds: float
    base_bytes: int
    row_bytes: int

    @property
    def need(self) -> Need:
        """Memory of a job."""
        return Need(self.base_bytes, self.row_bytes)

    def seconds(self, cells: Sequence[Cell], rows: int, work: float) -> float:
        """Return the seconds of a job.

        Args:
            cells: differ in their split alone.
            rows: most replicas of a stack.
            work: `Cell.work` of each of the cells.
        """
        stacks = ceil(len(cells) * rows_of(cells[0]) / rows)
        seconds = self.stack_seconds * stacks + self.cell_seconds * len(cells)
        return self.job_seconds + seconds * work / self.work
