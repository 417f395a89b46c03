"""Reading a results folder: cells, files that are none, data sets the run could not have."""

import json
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from bench.schema import CELLS, READABLE_VERSIONS

REQUIRED = [field.name for field in CELLS if not field.nullable]


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    path: str  # relative to the results folder
    reason: str


class Unavailable(NamedTuple):
    """A data set the run could not have."""

    dataset: str
    reason: str
    remedy: str


class Results(NamedTuple):
    """What a results folder holds."""

    folder: Path
    cells: pd.DataFrame  # one row per cell, columns of bench.schema.CELLS
    skipped: list[Skipped]
    unavailable: list[Unavailable]


class NotAResult(Exception):
    """A Parquet file that is no result, or of another schema version; the message says which."""


def read_results(folder: Path) -> Results:
    """All cells under `folder`/cells; what cannot be read is listed, never an error."""
    tables, skipped = [CELLS.empty_table()], []
    for path, fragment in _fragments(cell_files(folder)):
        try:
            tables.append(_read_cells(fragment))
        except NotAResult as reason:
            skipped.append(Skipped(path.relative_to(folder).as_posix(), str(reason)))
        except (pa.ArrowException, OSError):
            # Arrow's own words run over many lines and name folders of this machine.
            skipped.append(Skipped(path.relative_to(folder).as_posix(), "not a whole Parquet file of result columns"))
    unavailable, problem = _read_unavailable(folder / "unavailable.json")
    # Many small chunks would make every selection of rows slow.
    cells = pa.concat_tables(tables).combine_chunks().to_pandas()
    return Results(folder, cells, skipped + problem, unavailable)


def cell_files(folder: Path) -> list[Path]:
    """The Parquet files under `folder`/cells, in the order of their names."""
    return sorted((folder / "cells").glob("**/*.parquet"))


def _fragments(paths: list[Path]) -> list[tuple[Path, ds.Fragment]]:
    """The files as parts of one dataset with the schema of cells; nothing is opened yet."""
    if not paths:
        return []
    dataset = ds.dataset([str(path) for path in paths], schema=CELLS, format="parquet")
    return list(zip(paths, dataset.get_fragments(), strict=True))


def _read_cells(fragment: ds.Fragment) -> pa.Table:
    """The rows of one file; optional columns that it lacks are null, unknown ones are dropped."""
    there = fragment.physical_schema.names
    if "schema_version" not in there:
        raise NotAResult("not a result file: it has no column schema_version")
    version = fragment.to_table(columns=["schema_version"], schema=CELLS)["schema_version"]
    versions = set(version.to_pylist())
    if not versions or not versions <= set(READABLE_VERSIONS):
        got, wanted = (", ".join(sorted(map(str, some))) for some in (versions, READABLE_VERSIONS))
        raise NotAResult(f"its schema version is {got or 'none'}; this program reads {wanted}")
    missing = [name for name in REQUIRED if name not in there]
    if missing:
        raise NotAResult(f"it lacks the columns {', '.join(missing)}")
    table = fragment.to_table(schema=CELLS)
    empty = [name for name in REQUIRED if table[name].null_count]
    if empty:
        raise NotAResult(f"it has no value for {', '.join(empty)}")
    return table


def _read_unavailable(path: Path) -> tuple[list[Unavailable], list[Skipped]]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [Unavailable(str(e["dataset"]), str(e["reason"]), str(e["remedy"])) for e in entries], []
    except FileNotFoundError:
        return [], []
    except (OSError, ValueError, TypeError, LookupError):
        return [], [Skipped(path.name, "not a JSON list of objects with dataset, reason and remedy")]
