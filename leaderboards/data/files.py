"""Rows from Parquet files of results, cells or timings, and what keeps a file from being one."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bench.schema import CELLS, READABLE_VERSIONS


class NotAResult(Exception):
    """A Parquet file that is no result, or of another schema version; the message says which."""


class Read(NamedTuple):
    """Attributes:
    table: rows of the schema asked for.
    lengths: how many of the rows each file has, in the order of the files; 0 for those that are no result.
    refused: by place of the file, why.
    """

    table: pa.Table
    lengths: list[int]
    refused: dict[int, str]


def read_files(paths: Sequence[Path], schema: pa.Schema = CELLS) -> Read:
    """The rows of all files, in their order; optional columns that a file lacks are null, unknown ones are dropped.

    `schema` is that of the rows: of cells, or `bench.schema.TIMINGS`.
    """
    found: list[pa.Table | None] = []
    refused = {}
    seen = None
    for place, path in enumerate(paths):
        try:
            table = pq.ParquetFile(path).read(use_threads=False)
            if seen is None or not table.schema.equals(seen):  # most files have the columns of the one before
                _check_columns(table, schema)
                seen = table.schema
            _check_version(table)
            found.append(table)
        except NotAResult as reason:
            refused[place] = str(reason)
            found.append(None)
        except (pa.ArrowException, OSError):
            # Arrow's own words run over many lines and name folders of this machine.
            refused[place] = "not a whole Parquet file of result columns"
            found.append(None)
    lengths = [0 if table is None else len(table) for table in found]
    runs, reasons = _as_rows(found, schema)
    for place, reason in reasons.items():
        refused[place], lengths[place] = reason, 0
    return Read(pa.concat_tables([schema.empty_table(), *runs]), lengths, refused)


def _required(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if not field.nullable]


def _check_columns(table: pa.Table, schema: pa.Schema) -> None:
    names = set(table.column_names)
    if "schema_version" not in names:
        raise NotAResult("not a result file: it has no column schema_version")
    _check_version(table)  # of another version it may well lack columns
    missing = [name for name in _required(schema) if name not in names]
    if missing:
        raise NotAResult(f"it lacks the columns {', '.join(missing)}")


def _check_version(table: pa.Table) -> None:
    versions = set(table["schema_version"].to_pylist())
    if not versions or not versions <= set(READABLE_VERSIONS):
        got, wanted = (", ".join(sorted(map(str, some))) for some in (versions, READABLE_VERSIONS))
        raise NotAResult(f"its schema version is {got or 'none'}; this program reads {wanted}")


def _as_rows(tables: list[pa.Table | None], schema: pa.Schema) -> tuple[list[pa.Table], dict[int, str]]:
    """The tables with that schema, neighbours of the same schema as one; by place, why one cannot have it."""
    runs: list[list[int]] = []
    for place, table in enumerate(tables):
        if table is None:
            continue
        if runs and tables[runs[-1][0]].schema.equals(table.schema):
            runs[-1].append(place)
        else:
            runs.append([place])
    found, refused = [], {}
    for run in runs:
        try:
            found.append(_cast(pa.concat_tables([tables[place] for place in run]).combine_chunks(), schema))
        except (NotAResult, pa.ArrowException):  # find out which
            for place in run:
                try:
                    found.append(_cast(tables[place], schema))
                except NotAResult as reason:
                    refused[place] = str(reason)
                except pa.ArrowException:
                    refused[place] = "not a whole Parquet file of result columns"
    return found, refused


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    empty = [name for name in _required(schema) if table[name].null_count]
    if empty:
        raise NotAResult(f"it has no value for {', '.join(empty)}")
    columns, there = [], set(table.column_names)
    for field in schema:
        if field.name not in there:
            columns.append(pa.nulls(len(table), field.type))
            continue
        column = table[field.name]
        if pa.types.is_string(column.type) != pa.types.is_string(field.type):
            raise pa.ArrowTypeError(f"{field.name} is {column.type}")
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.table(columns, schema=schema)
