"""The measured cost of a cell: time and memory."""

from typing import NamedTuple

from lockstep_bench.bench.costs.batching import Need


class Cost(NamedTuple):
    """Measured cost of one cell of a method on a data set.

    A job of n such cells, which train together, takes

        job_start_seconds + job_seconds + n (start_seconds + seconds)

    of which `job_seconds` and `seconds` are proportional to the work of a cell.

    Attributes:
        work: `Cell.work` of the cell.
        seconds: duration of the updates of each cell.
        base_bytes: memory of the process with its data, without any fit.
        row_bytes: further memory for each fit that is trained at the same time.
        start_seconds: duration of all else for each cell.
        job_seconds: duration of updates that does not depend on the number of cells, as those of few fits that leave
            room in the processor's registers.
        job_start_seconds: duration of all else that does not depend on the number of cells.
    """

    work: float
    seconds: float
    base_bytes: int
    row_bytes: int
    start_seconds: float = 0.0
    job_seconds: float = 0.0
    job_start_seconds: float = 0.0

    @property
    def need(self) -> Need:
        """The memory that a job of such cells needs."""
        return Need(self.base_bytes, self.row_bytes)

    def seconds_of(self, work: float, n_cells: int) -> float:
        """Return the duration of a job in seconds.

        Args:
            work: `Cell.work` of each of its cells, under this protocol or a longer or shorter one.
            n_cells: number of its cells.
        """
        times = work / self.work
        job = self.job_start_seconds + self.job_seconds * times
        return job + n_cells * (self.start_seconds + self.seconds * times)
