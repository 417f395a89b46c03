"""The results folder: one Parquet file per finished cell, and its per-example predictions beside it.

    OUT/cells/SUITE/DATASET/METHOD/PRESET-HASH/splitNN-seedS.parquet
    OUT/predictions/...the same...
    OUT/studies/...the same, .jsonl: Optuna journals
    OUT/timings/SUITE/DATASET/METHOD/PRESET-HASH.parquet: times of a cell that was repeated alone
    OUT/superseded/N/...: what `--fresh` put aside
    OUT/index.jsonl: what the first folder holds

A cell's file is written last, under a temporary name, and renamed: it is there and whole, or not there. No result is
ever rewritten.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.experiment.cells import Cell
from bench.experiment.plan import Missing
from bench.results.reader import INDEX, KEY, CellFiles
from bench.results.record import CellResult
from bench.results.storage import write_atomically
from bench.schema import CELLS, TABLES, TIMINGS, timing_key

PARTS = ("cells", *TABLES, "studies", "timings", "unavailable.json", INDEX)


class Results:
    """The results folder `out`, as it is when it is first asked."""

    def __init__(self, out: Path):
        self.out = Path(out)

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished, in whatever status."""
        return cell.key in self._files.statuses

    def journal(self, cell: Cell) -> Path:
        """Where the cell's Optuna study is kept."""
        return self.out / "studies" / f"{cell.key}.jsonl"

    def write(self, result: CellResult) -> None:
        """Store a finished cell, and beside it its tables, each in the folder of its name."""
        for part, table in result.tables.items():
            write_atomically(_parquet(table), self._path(part, result.cell))
        path = self._path("cells", result.cell)
        write_atomically(_parquet(result.to_table()), path)
        self._files.add(path, result.row)

    def rows(self) -> pd.DataFrame:
        """Return the rows of `bench.schema.CELLS` of all cells in the folder, including those of other runs."""
        return self._files.table.to_pandas().drop_duplicates(list(KEY), keep="last", ignore_index=True)

    def row(self, cell: Cell) -> dict[str, Any]:
        """The row of a finished cell; columns that its file lacks are None."""
        (row,) = pq.read_table(self._path("cells", cell)).to_pylist()
        return dict.fromkeys(CELLS.names) | row

    def timing(self, cell: Cell) -> Path:
        """Where the times of the cell's method on its data set, alone on a device, are kept."""
        key = timing_key(cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash)
        return self.out / "timings" / f"{key}.parquet"

    def write_timing(self, result: CellResult) -> None:
        """Store the times of a repeated cell, a row of `bench.schema.TIMINGS`."""
        timing = {name: result.row[name] for name in TIMINGS.names}
        write_atomically(_parquet(pa.Table.from_pylist([timing], schema=TIMINGS)), self.timing(result.cell))

    def note_missing(self, missing: Sequence[Missing]) -> None:
        """Record for the page which data sets the latest run could not have."""
        noted = json.dumps([asdict(one) for one in missing], indent=1)
        write_atomically(noted.encode(), self.out / "unavailable.json")

    def statuses(self, cells: Sequence[Cell]) -> dict[Cell, str]:
        """The status of those of the cells that are finished."""
        known = self._files.statuses
        return {cell: known[cell.key] for cell in cells if cell.key in known}

    def mend(self) -> list[tuple[Path, str]]:
        """Remove what a killed run had not finished, and put aside files that are not what their place says.

        Returns the new names of the latter, and why; their cells run again.
        """
        return self._files.mend()

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
        vars(self).pop("_files", None)  # what it tells of lies elsewhere now
        return aside

    @cached_property
    def _files(self) -> CellFiles:
        return CellFiles(self.out)

    def _path(self, part: str, cell: Cell) -> Path:
        return self.out / part / f"{cell.key}.parquet"


def _parquet(table: pa.Table) -> bytes:
    content = pa.BufferOutputStream()
    flat = not any(pa.types.is_nested(field.type) for field in table.schema)
    pq.write_table(
        table,
        content,
        # A compressor is set up for each column, which doubles the time of a row and saves nothing of its size.
        compression="none" if table.num_rows == 1 else "zstd",
        # Parquet tells all types that a row has; Arrow's own account of them is two fifths of its file.
        store_schema=not flat,
        # Dictionaries of samples, which never repeat, take nine times the time to write and half as much space again.
        use_dictionary=False,
        write_statistics=False,
    )
    return content.getvalue().to_pybytes()
