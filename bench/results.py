"""The results folder: one Parquet file per finished cell, and its per-example predictions beside it.

    OUT/cells/SUITE/DATASET/METHOD/PRESET-HASH/splitNN-seedS.parquet
    OUT/predictions/...the same...
    OUT/studies/...the same, .jsonl: Optuna journals
    OUT/timings/SUITE/DATASET/METHOD/PRESET-HASH.parquet: times of a cell that was repeated alone
    OUT/catalogue.parquet: what cells say of themselves (`bench.catalogue`)
    OUT/superseded/N/...: what `--fresh` put aside

A cell's file is written last, under a temporary name, and renamed: it is there and whole, or not there. Nothing is
ever rewritten.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.cells import Cell
from bench.plan import Missing
from bench.schema import CELLS, TABLES, TIMINGS, timing_key

PARTS = ("cells", *TABLES, "studies", "timings", "unavailable.json")


class Results:
    """The results folder `out`."""

    def __init__(self, out: Path):
        self.out = Path(out)

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished, in whatever status."""
        return self._path("cells", cell).exists()

    def journal(self, cell: Cell) -> Path:
        """Where the cell's Optuna study is kept."""
        return self.out / "studies" / f"{cell.key}.jsonl"

    def write(self, cell: Cell, row: dict[str, Any], tables: Mapping[str, pa.Table] = MappingProxyType({})) -> None:
        """Store a finished cell, and beside it `tables`, each in the folder of its name.

        `row` must have a value for every field of the schema that is not nullable.
        """
        for part, table in tables.items():
            _write_atomically(table, self._path(part, cell))
        _write_atomically(pa.Table.from_pylist([row], schema=CELLS), self._path("cells", cell))

    def row(self, cell: Cell) -> dict[str, Any]:
        """The row of a finished cell; columns that its file lacks are None."""
        (row,) = pq.read_table(self._path("cells", cell)).to_pylist()
        return dict.fromkeys(CELLS.names) | row

    def timing(self, cell: Cell) -> Path:
        """Where the times of the cell's method on its data set, alone on a device, are kept."""
        key = timing_key(cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash)
        return self.out / "timings" / f"{key}.parquet"

    def write_timing(self, cell: Cell, timing: dict[str, Any]) -> None:
        """Store the times of a repeated cell, a row of `bench.schema.TIMINGS`."""
        _write_atomically(pa.Table.from_pylist([timing], schema=TIMINGS), self.timing(cell))

    def note_missing(self, missing: Sequence[Missing]) -> None:
        """Record for the page which data sets the latest run could not have."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "unavailable.json").write_text(json.dumps([asdict(one) for one in missing], indent=1))

    def statuses(self, cells: Sequence[Cell]) -> dict[Cell, str]:
        """The status of those of the cells that are finished."""
        return {
            cell: pq.read_table(path, columns=["status"])["status"][0].as_py()
            for cell in cells
            if (path := self._path("cells", cell)).exists()
        }

    def put_aside_unreadable(self, cells: Sequence[Cell]) -> list[Path]:
        """Rename those of the cells' files that are no Parquet, so that they run again; returns the new names."""
        renamed = []
        for path in (self._path("cells", cell) for cell in cells):
            try:
                if path.exists():
                    pq.read_metadata(path)
            except pa.ArrowInvalid:
                # Readers of the folder as one data set pass over names that begin with an underscore.
                renamed.append(path.rename(path.with_name(f"_{path.name}.unreadable")))
        return renamed

    def put_aside(self) -> Path | None:
        """Move everything to a numbered folder under OUT/superseded, so that the next run starts over."""
        present = [self.out / part for part in PARTS if (self.out / part).exists()]
        if not present:
            return None
        number = 1
        while (self.out / "superseded" / str(number)).exists():
            number += 1
        aside = self.out / "superseded" / str(number)
        aside.mkdir(parents=True)
        for path in present:
            path.rename(aside / path.name)
        return aside

    def _path(self, part: str, cell: Cell) -> Path:
        return self.out / part / f"{cell.key}.parquet"


def _write_atomically(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    pq.write_table(table, temporary, compression="zstd")
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    os.replace(temporary, path)
