"""The measured cost of a cell: time and memory."""

from typing import NamedTuple

from lockstep_bench.bench.costs.batching import Need


class Cost(NamedTuple):
    """Measured cost of one cell of a method on a data set.

    Attributes:
        work: `Cell.work` of the cell. Under a longer or shorter protocol, time is taken as proportional to the work.
        seconds: duration of the cell.
        base_bytes: memory of the process with its data, without any fit.
        row_bytes: further memory for each fit that is trained at the same time.
    """

    work: float
    seconds: float
    base_bytes: int
    row_bytes: int

    @property
    def need(self) -> Need:
        """The memory that a job of such cells needs."""
        return Need(self.base_bytes, self.row_bytes)
