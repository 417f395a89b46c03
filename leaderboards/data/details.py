"""Tables that cells have beside their rows, for figures: moments, bands, curves."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.schema import cell_key


def detail(table: str, cell) -> pd.DataFrame | None:
    """Return the table `table` of a cell, or None if it has none; `cell` is a row of `results.Results.cells`.

    A file that cannot be read is as good as none: numbers do not depend on it.
    """
    preset = cell.preset.partition("@")[0]
    key = cell_key(cell.suite, cell.dataset, cell.method, preset, cell.protocol_hash, cell.split, cell.seed)
    try:
        return pq.read_table(Path(cell.folder) / table / f"{key}.parquet").to_pandas()
    except (OSError, pa.ArrowException):
        return None


def details(table: str, cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the table of each method's first split that has one, in the order of `cells`."""
    found = {}
    if not any_of(table, cells):
        return found
    for cell in cells.sort_values(["split", "seed"], kind="stable").itertuples():
        if cell.method not in found and (one := detail(table, cell)) is not None:
            found[cell.method] = one
    return {method: found[method] for method in dict.fromkeys(cells["method"]) if method in found}


def gathered(table: str, cells: pd.DataFrame) -> pd.DataFrame | None:
    """Return the tables of all cells in one frame, with the cells' method, split and seed; None if none has one."""
    if not any_of(table, cells):
        return None
    parts = [
        one.assign(method=cell.method, split=cell.split, seed=cell.seed)
        for cell in cells.itertuples()
        if (one := detail(table, cell)) is not None
    ]
    return pd.concat(parts, ignore_index=True) if parts else None


def any_of(table: str, cells: pd.DataFrame) -> bool:
    """Return whether a folder `table` exists for any data set of `cells`, so that not every cell is tried in vain."""
    places = cells[["folder", "suite", "dataset"]].drop_duplicates().itertuples(index=False)
    return any((Path(folder) / table / suite / dataset).is_dir() for folder, suite, dataset in places)
