"""What a worker is given to do, and what becomes of each of its cells."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from bench.experiment.cells import Cell

STACK_ROWS = 150  # on a CPU core larger stacks gain little and cost memory


@dataclass(frozen=True)
class Job:
    """What a worker needs to run cells that differ in their split alone, side by side.

    Attributes:
        cells: to be run.
        journals: the file of each cell's Optuna study.
        data_dir: data directory, or None for the default.
        stack_rows: the most that train at a time; the slot has memory for so many.
    """

    cells: tuple[Cell, ...]
    journals: tuple[Path, ...]
    data_dir: Path | None
    stack_rows: int = STACK_ROWS

    def alone(self) -> list["Job"]:
        """One job for each cell."""
        pairs = zip(self.cells, self.journals, strict=True)
        return [replace(self, cells=(cell,), journals=(journal,)) for cell, journal in pairs]


@dataclass(frozen=True)
class End:
    """What became of a cell.

    Attributes:
        status: one of `bench.schema.STATUSES`.
        error: why it is not "ok".
        tables: what is kept beside its row, by the name of the folder.
        error_class: the name of what was raised, if anything was.
    """

    status: str
    error: str | None = None
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    error_class: str | None = None
