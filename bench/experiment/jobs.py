"""Jobs: batches of cells that a worker runs side by side."""

from dataclasses import dataclass, replace
from pathlib import Path

from lockstep_bench.bench.experiment.cells import Cell

STACK_ROWS = 150  # on a CPU core larger stacks gain little and cost memory


@dataclass(frozen=True)
class Job:
    """Cells that differ only in their split, which a worker runs side by side.

    Attributes:
        cells: The cells to run.
        journals: The file of each cell's Optuna study.
        data_dir: Data directory, or None for the default.
        stack_rows: Largest number of replicas that train at a time, for which the worker has memory.
        validated: Whether given hyper-parameters are scored on the validation rows, although nothing is chosen.
    """

    cells: tuple[Cell, ...]
    journals: tuple[Path, ...]
    data_dir: Path | None
    stack_rows: int = STACK_ROWS
    validated: bool = False

    def alone(self) -> list["Job"]:
        """Return one job per cell."""
        pairs = zip(self.cells, self.journals, strict=True)
        return [replace(self, cells=(cell,), journals=(journal,)) for cell, journal in pairs]
