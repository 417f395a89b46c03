"""Tables for figures that are stored per result: posterior moments, predictive bands, learning curves.

A result, called a cell, is one method on one split of a data set. It is a row of the results; these tables lie in files
beside it.
"""

import os
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from lockstep_bench.leaderboards.data.frames import DETAILS, records
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, unsealed
from lockstep_bench.shared.schema import cell_key


class CellId(NamedTuple):
    """The fields of a result row from which the paths of its detail tables follow."""

    folder: str
    suite: str
    dataset: str
    method: str
    preset: str
    protocol_hash: str
    split: int
    seed: int

    def path(self, table: str) -> Path:
        """Return the path of the cell's detail table of the given name, whether or not the file exists."""
        preset = self.preset.partition("@")[0]
        key = cell_key(self.suite, self.dataset, self.method, preset, self.protocol_hash, self.split, self.seed)
        return Path(self.folder) / table / f"{key}.parquet"


def detail(table: str, cell: CellId) -> pd.DataFrame | None:
    """Return the detail table of a cell, whose name is one of `frames.DETAILS`; None if the cell has none.

    A file that cannot be read, or that does not fit the schema of the table, counts as missing, because no number of a
    leaderboard depends on it.
    """
    path = cell.path(table)
    if not os.path.isfile(path):  # reading a pipe would wait for ever, and `Path.is_file` raises for an endless name
        return None
    try:
        frame: pd.DataFrame = unsealed(path.read_bytes()).cast(DETAILS[table]).to_pandas()
        return frame
    except (OSError, Damaged, ValueError, pa.ArrowException):
        return None


def in_split_order(cells: pd.DataFrame) -> list[CellId]:
    """Return the identifiers of the given result rows, ordered by split and seed."""
    ids = cells[list(CellId._fields)]
    return list(records(ids.sort_values(["split", "seed"], kind="stable"), CellId))


def details(table: str, cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return each method's detail table `table`, from its first split that has one, in the order of `cells`."""
    by_method: dict[str, pd.DataFrame] = {}
    if not any_of(table, cells):
        return by_method
    for cell in in_split_order(cells):
        if cell.method not in by_method and (frame := detail(table, cell)) is not None:
            by_method[cell.method] = frame
    return {method: by_method[method] for method in dict.fromkeys(cells["method"]) if method in by_method}


def gathered(table: str, cells: pd.DataFrame) -> pd.DataFrame | None:
    """Return one kind of table that is stored beside rows, of all cells in one frame; None if no cell has it.

    Args:
        table: kind of table, a name in `shared.columns.TABLES`, such as "predictions".
        cells: the cells; their method, split and seed become columns.
    """
    if not any_of(table, cells):
        return None
    parts = [
        frame.assign(method=cell.method, split=cell.split, seed=cell.seed)
        for cell in records(cells, CellId)
        if (frame := detail(table, cell)) is not None
    ]
    return pd.concat(parts, ignore_index=True) if parts else None


def any_of(table: str, cells: pd.DataFrame) -> bool:
    """Return whether any folder of detail tables `table` exists for these cells; False means that no cell has one.

    The check is faster than one of every cell's file.
    """
    places = product(*(cells[name].unique() for name in ("folder", "suite", "dataset")))
    return any(os.path.isdir(Path(folder) / table / suite / dataset) for folder, suite, dataset in places)
