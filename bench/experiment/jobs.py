"""Jobs: a job is a group of cells that differ only in their split, which a worker process runs together."""

from dataclasses import dataclass, replace
from pathlib import Path

from lockstep_bench.bench.experiment.cells import Cell

STACK_ROWS = 150  # on a CPU core larger stacks gain little and cost memory


@dataclass(frozen=True)
class Job:
    """A job: cells that differ only in their split, which a worker process tunes and trains together.

    Attributes:
        cells: The cells to run; a cell is one method on one split of a data set.
        journals: The file of each cell's Optuna study.
        data_dir: Data directory, or None for the default.
        stack_rows: Largest number of networks to train together, so that they fit into the worker's memory.
        validated: Whether hyper-parameters that the user gives are scored on the validation rows, although nothing is
            tuned.
    """

    cells: tuple[Cell, ...]
    journals: tuple[Path, ...]
    data_dir: Path | None
    stack_rows: int = STACK_ROWS
    validated: bool = False

    def alone(self) -> list["Job"]:
        """Return a separate job for each cell of this job."""
        pairs = zip(self.cells, self.journals, strict=True)
        return [replace(self, cells=(cell,), journals=(journal,)) for cell, journal in pairs]
