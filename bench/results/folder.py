"""The results folder OUT: one Parquet file per finished cell, and further files for its tables.

A cell is one method on one split of a data set under one protocol.

    OUT/cells/SUITE/DATASET/METHOD/PRESET-HASH/splitNN-seedS.parquet
    OUT/predictions/SUITE/.../splitNN-seedS.parquet: per-example predictions; other tables alike
    OUT/studies/SUITE/.../splitNN-seedS.json: Optuna studies (`shared.rows.studies`)
    OUT/timings/SUITE/DATASET/METHOD/PRESET-HASH.parquet: times of a cell, run again alone on an idle device
    OUT/longer/SUITE/.../splitNN-seedS-xF.parquet: results of a cell that was trained F times as long
    OUT/superseded/N/: earlier results that the option `--fresh` moved away
    OUT/own/NAME.json: description of a user's table (`datasets.Table`), for the pages

A cell's file under OUT/cells is written after its other files, under a temporary name, and then renamed. It is
therefore either complete or absent. Results are never changed; only metrics can be added to a row.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lockstep_bench.bench.experiment.available import Missing
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.results.blocked_paths import among, below, obstacle
from lockstep_bench.bench.results.encoding import parquet_of
from lockstep_bench.bench.results.lock import HOLDER, LOCK
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.datasets import Table
from lockstep_bench.shared.columns import CELLS, TABLES
from lockstep_bench.shared.rows.atomic import write_atomically
from lockstep_bench.shared.rows.checking import NEWER, read_files
from lockstep_bench.shared.rows.encoded import as_frame
from lockstep_bench.shared.rows.reader import CellFiles
from lockstep_bench.shared.rows.recalibrated import FOLDER as RECALIBRATED
from lockstep_bench.shared.rows.rows_cache import KEY
from lockstep_bench.shared.schema import LONGER, TIMES, TIMINGS, cell_key, timing_key

# Columns of rows that a run looks at, to go on, to warn of differences and to estimate times. Reading all takes four
# times the memory.
COLUMNS = (
    *(*KEY, "status", "schema_version", "task", "protocol", "hparams", "search_space", "exclusive"),
    *("elapsed_seconds", *TIMES, "peak_memory_mib", "n_test", "device", "host"),
    *("code_revision", "code_dirty", "code_identity", "data_sha256", "split_sha256"),
)
FOLDERS = ("cells", *TABLES, "studies", "timings", "longer", "own", RECALIBRATED)
PARTS = (*FOLDERS, "unavailable.json", "rechecks.json")


class Results:
    """The results folder `out`; its contents are read once, when they are first needed."""

    def __init__(self, out: Path):
        self.out = Path(out)
        self._adding = Lock()

    def has(self, cell: Cell) -> bool:
        """Return whether the cell is finished, with any status, including failures."""
        return cell.key in self._files.statuses

    def journal(self, cell: Cell) -> Path:
        """Return the path of the cell's Optuna study."""
        return self.out / "studies" / f"{cell.key}.json"

    def write(self, result: CellResult) -> None:
        """Store the result of a finished cell, and each of its tables in the folder with the table's name.

        Several threads may write different cells at the same time.
        """
        name = f"{result.cell.key}.parquet"
        for part, content in result.files.items():  # the row comes last
            write_atomically(content, self.out / part / name)
        with self._adding:
            self._files.add(self.out / "cells" / name, result.status)

    def add_metrics(self, row: Mapping[str, Any], values: Mapping[str, float]) -> None:
        """Add the metrics `values` to a finished cell's row, which has all columns of `shared.columns.CELLS`."""
        table = pa.Table.from_pylist([{**row, **values}], schema=CELLS)
        write_atomically(parquet_of(table), self.out / "cells" / f"{cell_key(*(row[name] for name in KEY))}.parquet")

    def rows(self) -> pd.DataFrame:
        """Return the results of all cells in the folder, also of other runs, with the columns `COLUMNS`."""
        rows = as_frame(self._files.encoded)
        older = rows.duplicated(list(KEY), keep="last")
        return rows[~older].reset_index(drop=True) if older.any() else rows  # without a copy of 100,000

    def row(self, cell: Cell) -> dict[str, Any]:
        """Return the result row of a finished cell, from its own file or a published one; missing columns are None."""
        own, top = self._path("cells", cell), self.out / "cells"
        identity = (cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash, cell.split, cell.seed)
        key = [(name, "=", value) for name, value in zip(KEY, identity, strict=True)]
        files = [own] if own.is_file() else sorted(top.glob("*.parquet"))
        *_, row = (row for file in files for row in pq.read_table(file, filters=key).to_pylist())
        complete: dict[str, Any] = dict.fromkeys(CELLS.names) | row
        return complete

    def timing(self, cell: Cell) -> Path:
        """Return the path of the file with the cell's times when it is run alone on an idle device."""
        key = timing_key(cell.suite, cell.dataset, cell.method, cell.preset, cell.protocol.hash)
        return self.out / "timings" / f"{key}.parquet"

    def has_timing(self, cell: Cell) -> bool:
        """Return whether times of the cell's method, run alone on an idle device, are stored for its data set."""
        return _holds(self.timing(cell), TIMINGS)

    def write_timing(self, result: CellResult) -> None:
        """Store the times of a cell that was run again alone, as a row of `shared.schema.TIMINGS`."""
        timing = {name: result.row[name] for name in TIMINGS.names}
        write_atomically(parquet_of(pa.Table.from_pylist([timing], schema=TIMINGS)), self.timing(result.cell))

    def longer(self, cell: Cell, factor: int) -> Path:
        """Return the path of the file with the cell's results after training for `factor` times as long."""
        return self.out / "longer" / f"{cell.key}-x{factor}.parquet"

    def has_longer(self, cell: Cell, factor: int) -> bool:
        """Return whether results of the cell after training for `factor` times as long are stored."""
        return _holds(self.longer(cell, factor), LONGER)

    def write_longer(self, cell: Cell, factor: int, result: CellResult) -> None:
        """Store a cell's results after training for `factor` times as long, as a row of `shared.schema.LONGER`."""
        own = {"preset": cell.preset, "protocol_hash": cell.protocol.hash}
        values = result.row | own | {"factor": factor, "trained_by": result.row["protocol"]}
        table = pa.Table.from_pylist([{name: values[name] for name in LONGER.names}], schema=LONGER)
        write_atomically(parquet_of(table), self.longer(cell, factor))

    def note_missing(self, missing: Sequence[Missing]) -> None:
        """Store which data sets were unavailable in the latest run, for the result page."""
        content = json.dumps([asdict(absent) for absent in missing], indent=1)
        write_atomically(content.encode(), self.out / "unavailable.json")

    def note_table(self, table: Table) -> None:
        """Store the description of a user's own table, for the result page."""
        write_atomically(table.to_json().encode(), self.out / "own" / f"{table.name}.json")

    def statuses(self, cells: Sequence[Cell]) -> dict[Cell, str]:
        """Return the status of each of `cells` that is finished."""
        known = self._files.statuses
        return {cell: known[cell.key] for cell in cells if cell.key in known}

    def mend(self) -> list[tuple[Path, str]]:
        """Remove unfinished files of a killed run, and rename invalid result files, so that their cells run again.

        Returns:
            The new paths of the renamed files, and the reasons.
        """
        return self._files.mend()

    def require_readable(self) -> None:
        """Check that the folder has no results of a newer version of this program, which could not be read.

        Raises:
            InvalidRequest: The folder has results of a newer version.
        """
        if newer := self._files.newer:
            raise InvalidRequest(
                f"a newer version of this program wrote {len(newer)} of the results in {self.out}, such as {newer[0]}. "
                "Update this program, or give another --out"
            )

    @property
    def passed_over(self) -> dict[Path, str]:
        """Links, pipes and other special entries under OUT/cells, which are ignored, with the reason."""
        return self._files.passed_over

    def require_plain(self) -> None:
        """Check that no link or other special entry is at a path of OUT to which a run writes.

        Raises:
            InvalidRequest: Such an entry is there.
        """
        try:
            str(self.out).encode()
        except UnicodeEncodeError:
            raise InvalidRequest(
                f"the path of the results folder '{self.out}' is not UTF-8; rename it, or give a link to it"
            ) from None
        _refuse(among((self.out / name for name in (*FOLDERS, "superseded", "html")), folder=True))
        _refuse(among((self.out / name for name in (LOCK, HOLDER, "unavailable.json")), folder=False))

    def require_place(self, cells: Sequence[Cell]) -> None:
        """Check that the files of the cells can be written: their paths lead through no link or special entry.

        Raises:
            InvalidRequest: A path leads through such an entry.
        """
        opened = {"cells": ".parquet", "studies": ".json"}
        folders = {self.out / name: opened.get(name, "") for name in FOLDERS}
        _refuse(below(folders, (cell.key for cell in cells)))

    def put_aside(self) -> Path | None:
        """Move all results to a new numbered folder under OUT/superseded; return it, or None without results."""
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
        vars(self).pop("_files", None)  # its files have moved
        return aside

    @cached_property
    def _files(self) -> CellFiles:
        return CellFiles(self.out, columns=COLUMNS)

    def _path(self, part: str, cell: Cell) -> Path:
        return self.out / part / f"{cell.key}.parquet"


def _holds(path: Path, schema: pa.Schema) -> bool:
    """Return whether a file holds rows of this schema. A damaged file counts as missing and will be replaced."""
    if obstacle(path, folder=False) or not path.exists():
        return False
    refused = read_files([path], schema).refused
    return not refused or refused[0].startswith(NEWER)


def _refuse(obstacles: Iterable[tuple[Path, str]]) -> None:
    for path, reason in obstacles:
        raise InvalidRequest(f"{path} is in the way of results: {reason}. Move it elsewhere, or give another --out")
