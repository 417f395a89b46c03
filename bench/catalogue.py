"""What the cells of a results folder say of themselves, of many thousand cells in a moment.

OUT/catalogue.parquet holds `COLUMNS` of every row, with size and time of its file. It is made of the cells' files, read
again where those have changed, and may be deleted at any time.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from bench.schema import CELLS

COLUMNS = (
    *("suite", "dataset", "method", "split", "preset", "seed", "protocol", "protocol_hash", "status"),
    *("tune_seconds", "fit_seconds", "predict_seconds_per_1000", "elapsed_seconds", "n_test", "peak_memory_mib"),
    *("exclusive", "search_space", "data_sha256", "code_revision", "code_dirty", "device", "host"),
)
NAME = "catalogue.parquet"
WORTH_KEEPING = 100  # files that had to be read

ROWS = pa.schema([pa.field(name, CELLS.field(name).type) for name in COLUMNS])
ENTRIES = pa.schema([pa.field("file", pa.string()), pa.field("stamp", pa.string()), *ROWS])


def rows_in(out: Path) -> pd.DataFrame:
    """`COLUMNS` of all cells in the results folder `out`; files that are no such rows are passed over."""
    stamps = dict(_stamps(out / "cells"))
    kept = _kept(out / NAME)
    there = [stamps.get(file) == stamp for file, stamp in zip(*_keys(kept), strict=True)]
    kept = kept.filter(pa.array(there, pa.bool_()))
    new = sorted(stamps.keys() - set(kept["file"].to_pylist()))
    whole = pa.concat_tables([kept, *_entries(out / "cells", new, stamps)])
    if len(new) >= WORTH_KEEPING:
        with suppress(OSError):
            _keep(whole, out / NAME)
    return whole.filter(pc.is_valid(whole["protocol_hash"])).select(list(COLUMNS)).to_pandas()


def _stamps(folder: Path) -> Iterator[tuple[str, str]]:
    """Of every file that may be a cell's, its path below the folder, and what changes when it does."""
    for here, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".parquet") and not name.startswith(("_", ".")):
                with suppress(OSError):
                    found = os.stat(path := os.path.join(here, name))
                    yield os.path.relpath(path, folder), f"{found.st_size}-{found.st_mtime_ns}"


def _entries(folder: Path, files: Sequence[str], stamps: dict[str, str]) -> list[pa.Table]:
    """A table for each of the files, with a row of nulls for one that is no row."""
    found = []
    for file in files:
        try:
            row = _read([str(folder / file)])
        except (pa.ArrowException, OSError):
            row = pa.Table.from_pylist([{}], schema=ROWS)
        named = {"file": [file] * len(row), "stamp": [stamps[file]] * len(row)}
        found.append(pa.table(named | {name: row[name] for name in COLUMNS}, schema=ENTRIES))
    return found


def _read(paths: Sequence[str]) -> pa.Table:
    return ds.dataset(list(paths), schema=ROWS, format="parquet").to_table()


def _kept(path: Path) -> pa.Table:
    with suppress(pa.ArrowException, OSError):
        table = pq.read_table(path)
        if table.schema.equals(ENTRIES):
            return table
    return ENTRIES.empty_table()


def _keys(table: pa.Table) -> tuple[list[str], list[str]]:
    return table["file"].to_pylist(), table["stamp"].to_pylist()


def _keep(table: pa.Table, path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pq.write_table(table, temporary, compression="zstd")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
