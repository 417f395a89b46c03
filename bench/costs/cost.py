"""Cost of a cell, as a probe measures it."""

from typing import NamedTuple

from lockstep_bench.bench.costs.batching import Need


class Cost(NamedTuple):
    """Measured cost of one cell of a method on a data set.

    Attributes:
        work: `Cell.work` of the cell; seconds of cells under longer or shorter protocols are in proportion.
        seconds: seconds of the cell.
        base_bytes: memory of a process with its data, without a fit.
        row_bytes: memory of every fit that trains at the same time.
    """

    work: float
    seconds: float
    base_bytes: int
    row_bytes: int

    @property
    def need(self) -> Need:
        """Memory of a job."""
        return Need(self.base_bytes, self.row_bytes)
