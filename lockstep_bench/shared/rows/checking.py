"""Reading of Parquet files with a check that they hold results; other files are refused with a reason."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lockstep_bench.shared.rows.encoded import distinct, encoded, joined
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, unsealed
from lockstep_bench.shared.schema import SCHEMA_VERSION, STATUSES

NAMES = ("suite", "dataset", "method", "preset", "protocol_hash")  # parts of paths
OUTSIDE = re.compile(r"(^|/)\.{0,2}(/|$)|\0")  # of a path that leads elsewhere, or nowhere
JSON_OBJECTS = {"protocol", "versions", "hparams", "search_space", "diagnostics", "reference", "trained_by"}
# Flat objects without escapes, as most are: Arrow finds 100,000 of these in a ninth of the decoder's time.
STRING, NUMBER = r'"[^"\\\x00-\x1f]*"', r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
PAIR = rf" *{STRING} *: *(?:{STRING}|{NUMBER}|true|false|null) *"
FLAT_OBJECT = rf"\A\{{(?:{PAIR}(?:,{PAIR})*)?\}}\z"
DECODE = json.JSONDecoder().decode  # `json.loads` without its choices, as files have 100,000 texts
NEWER = "it was written by a newer version of this program"
SHARE = 1000  # files that justify another process, which takes about a second to start; also those held at a time


class Read(NamedTuple):
    """The rows of several files, and the files that are not results.

    Attributes:
        table: All rows, in the order of the files; texts are dictionary-encoded (`encoded`).
        lengths: The number of rows of each file; 0 for files that are not results.
        refused: The reason why a file is not a result, by the file's index in the list of paths.
    """

    table: pa.Table
    lengths: list[int]
    refused: dict[int, str]


class _NotAResult(Exception):
    """A file is not a result; the message says why."""


def read_files(paths: Sequence[Path], schema: pa.Schema, columns: Collection[str] | None = None) -> Read:
    """Return the rows of files, which are read in parallel on all cores.

    A file of one row takes 2 to 3 ms, mostly to set up columns.

    Args:
        paths: The files.
        schema: The columns that the files should have.
        columns: Names of the needed columns; None for all. Columns that show whether a file holds results are always
            returned too. From files with a checksum, only these columns are read.
    """
    if columns is not None:
        checked = {field.name for field in schema if not field.nullable} | JSON_OBJECTS | {"status", "schema_version"}
        schema = pa.schema([field for field in schema if field.name in columns or field.name in checked])
    ends = [*range(0, len(paths), SHARE), len(paths)]
    shares = [paths[first:end] for first, end in pairwise(ends)]
    if len(shares) > 2:
        from joblib import Parallel, cpu_count, delayed

        parts = Parallel(min(cpu_count(), len(shares)))(delayed(read_share)(share, schema) for share in shares)
    else:
        parts = [read_share(share, schema) for share in shares]
    pa.default_memory_pool().release_unused()  # or it keeps 50 MB of 100,000 rows
    return Read(
        joined([encoded(schema.empty_table()), *(part.table for part in parts)]),
        [length for part in parts for length in part.lengths],
        {first + place: why for first, part in zip(ends, parts, strict=False) for place, why in part.refused.items()},
    )


def read_share(paths: Sequence[Path], schema: pa.Schema) -> Read:
    """Return the rows of files, read by this process; `read_files` calls it for each share of the files."""
    tables: dict[int, pa.Table] = {}
    refused: dict[int, str] = {}
    for place, path in enumerate(paths):
        try:
            tables[place] = unsealed(path.read_bytes(), schema)
        except Damaged as problem:
            refused[place] = str(problem)
        except OSError as problem:
            refused[place] = f"it cannot be read: {problem.strerror}"
    parts, origins = [encoded(schema.empty_table())], []
    for places in _alike(tables):
        try:
            parts.append(_checked(joined([tables[place] for place in places]), schema))
            origins += [np.repeat(places, [len(tables[place]) for place in places])]
        except _NotAResult:  # one of these files is at fault
            for place in places:
                try:
                    parts.append(_checked(tables[place], schema))
                    origins += [np.repeat(place, len(tables[place]))]
                except _NotAResult as reason:
                    refused[place] = str(reason)
    order = np.concatenate([np.empty(0, int), *origins])
    table = joined(parts)
    if (order[1:] < order[:-1]).any():
        table = table.take(np.argsort(order, kind="stable"))
    return Read(table, np.bincount(order, minlength=len(paths)).tolist(), refused)


def _alike(tables: Mapping[int, pa.Table]) -> list[list[int]]:
    """Group the tables by schema; a check of many at once is faster than many checks."""
    groups: list[list[int]] = []
    for place, table in tables.items():
        for group in groups:
            if tables[group[0]].schema.equals(table.schema):
                group.append(place)
                break
        else:
            groups.append([place])
    return groups


def _checked(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of `schema`, encoded; those that the table lacks are null, unknown ones are dropped.

    Raises:
        _NotAResult: If a value is missing that every result has, or a version, type or status is not one of a result,
            or a value cannot be understood.
    """
    try:
        accepted = encoded(_with_columns(table.unify_dictionaries(), schema))
        accepted.validate(full=True)
        _check_values(accepted)
        return accepted
    except _NotAResult:
        raise
    except Exception as problem:  # no file that somebody made may end a command
        raise _NotAResult(f"it is not a result: {type(problem).__name__} when it was read") from problem


def _check_values(table: pa.Table) -> None:
    """Raise unless names are names, every text that should be a JSON object is one, and every time can be read."""
    for name in NAMES:
        if outside := [text for text in distinct(table[name]) if OUTSIDE.search(text)]:
            raise _NotAResult(f"its {name} is {outside[0]!r}, which is not a valid name")
    for field in table.schema:
        if field.name in JSON_OBJECTS:
            texts = pc.unique(table[field.name]).dictionary_decode()
            flat = pc.match_substring_regex(texts, FLAT_OBJECT)
            for text in texts.filter(pc.invert(flat)).to_pylist():
                if not _is_json_object(text):
                    raise _NotAResult(f"its column {field.name} is not a JSON object")
        elif pa.types.is_timestamp(field.type):
            pc.min_max(table[field.name]).as_py()  # raises for years that Python cannot count


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(DECODE(text), dict)
    except (ValueError, RecursionError):
        return False


def _with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    present = set(table.column_names)
    if "schema_version" not in present:
        raise _NotAResult("it is not a result: it has no column schema_version")
    versions = set(pc.unique(table["schema_version"]).to_pylist())
    if not versions <= {SCHEMA_VERSION}:
        newer = any(isinstance(version, int) and version > SCHEMA_VERSION for version in versions)
        reason = f"its schema version is {', '.join(sorted(map(str, versions)))}; this program reads {SCHEMA_VERSION}"
        raise _NotAResult(f"{NEWER}: {reason}" if newer else reason)
    required = [field.name for field in schema if not field.nullable]
    if missing := [name for name in required if name not in present]:
        raise _NotAResult(f"it lacks the columns {', '.join(missing)}")
    if empty := [name for name in required if table[name].null_count]:
        raise _NotAResult(f"it has no value for {', '.join(empty)}")
    if "status" in schema.names:
        statuses = pc.unique(table["status"]).to_pylist()
        if unknown := sorted(str(status) for status in statuses if status not in STATUSES):
            raise _NotAResult(f"its status is {', '.join(unknown)}; allowed are {', '.join(STATUSES)}")
    columns = [
        _cast(table[field.name], field) if field.name in present else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.table(columns, names=schema.names)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type or column.type == pa.dictionary(pa.int32(), field.type):
        return column
    with suppress(pa.ArrowException):
        if pa.types.is_null(column.type) or pa.types.is_string(column.type) == pa.types.is_string(field.type):
            return column.cast(field.type)
    raise _NotAResult(f"its column {field.name} has the type {column.type}, and {field.type} was expected")
