"""Published predictions: a few points of each method's first split, in a file for each data set."""

from pathlib import Path

import pandas as pd
import pyarrow as pa

from lockstep_bench.leaderboards.stats.first_predictions import KEY, Key, first_cells, key_of, published_path
from lockstep_bench.leaderboards.stats.thinned import thinned
from lockstep_bench.shared.rows.parquet_with_digest import sealed

PROTOCOL = ["preset", "protocol_hash"]


def write_predictions(rows: pd.DataFrame, folder: Path) -> list[Path]:
    """Copy predictions at a few points of each method's first split to a new folder, and return the paths of the files.

    Args:
        rows: result rows, columns `leaderboards.data.frames.CELL_ROWS`, which name the folders that hold the
            predictions.
        folder: results folder that is written to.
    """
    written = []
    finished = rows[rows["status"] == "ok"].sort_values(["method", "split", "seed"], kind="stable")
    for (suite, dataset), on_dataset in finished.groupby(["suite", "dataset"]):
        tables = [
            _with_key(thinned(predictions), key_of(cell))
            for _, cells in on_dataset.groupby(PROTOCOL)
            for cell, predictions in first_cells(cells).values()
        ]
        if tables:
            path = published_path(folder, str(suite), str(dataset))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sealed(pa.concat_tables(tables), compression="zstd", compression_level=19))
            written.append(path)
    return written


def _with_key(table: pa.Table, key: Key) -> pa.Table:
    """Return the table with the columns `KEY` before its own."""
    columns = [pa.array([value] * len(table), field.type) for field, value in zip(KEY, key, strict=True)]
    return pa.table([*columns, *table.columns], pa.schema([*KEY, *table.schema]))
