"""Read a results folder: which of its files are results, and their rows. Imports no torch.

A file deep below OUT/cells is one cell, and its place is the cell's key. A file at the top of OUT/cells may hold many
cells, as published results do.

Opening ten thousand small Parquet files takes half a minute. `bench.results.remembered` therefore keeps their rows in
the user's cache folder.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.results.remembered import KEY, Remembered, Row
from bench.results.sealed import Damaged, unsealed
from bench.schema import CELLS, LONGER, READABLE_VERSIONS, STATUSES, TIMINGS, cell_key

CELL_NAMES = frozenset(CELLS.names)
JSON_OBJECTS = {"protocol", "versions", "hparams", "search_space", "diagnostics", "reference", "trained_by"}
NEWER = "it was written by a newer version of this program"
SHARE = 1000  # files that justify another process, which takes about a second to start


class Rows(NamedTuple):
    """Rows of a folder beside the cells, and its files that are not results, with the reason."""

    table: pa.Table
    unreadable: dict[Path, str]


class CellFiles:
    """The files under OUT/cells at the time of construction.

    Args:
        out: The results folder.
        cached: True to take rows of files that were read before from the user's cache folder.

    Attributes:
        unreadable: Files that are not read as results, with the reason, in the order of their names.
        passed_over: Links, and what is neither a file nor a folder, with the reason. They are not followed, opened,
            renamed or removed.
        leftovers: Files that a killed process had not finished.
    """

    def __init__(self, out: Path, *, cached: bool = True) -> None:
        self._cells = out / "cells"
        self.unreadable: dict[Path, str] = {}
        self.leftovers: list[Path] = []
        self.passed_over: dict[Path, str] = {}
        names = []
        for name in _files(self._cells, self.passed_over):
            if name.endswith(".tmp"):
                self.leftovers.append(self._cells / name)
            else:
                names.append(name)
        names.sort(key=lambda name: name.split("/"))
        memory = Remembered(out) if cached else None
        known = {} if memory is None else memory.rows({name: self._cells / name for name in names if "/" in name})
        self._published, new = self._read([name for name in names if name not in known])
        rows = known | new
        self._rows = {name: rows[name] for name in names if name in rows}
        self._added: list[str] = []  # their rows are read when they are needed, so that a long run takes no memory
        if memory is not None:
            memory.add(new)

    @cached_property
    def table(self) -> pa.Table:
        """The rows of all cells, with the schema `bench.schema.CELLS`: published ones first, then by file name."""
        if self._added:
            self._rows |= self._read(self._added)[1]
            self._added.clear()
        return pa.concat_tables([*self._published, _as_table(self._rows.values())]).combine_chunks()

    @cached_property
    def statuses(self) -> dict[str, str]:
        """The status of each cell, by its key."""
        return dict(zip(_keys(self.table), self.table["status"].to_pylist(), strict=True))

    def add(self, path: Path, status: str) -> None:
        """Add a cell that was stored in the file `path` with that status."""
        name = path.relative_to(self._cells).as_posix()
        self.statuses[name.removesuffix(".parquet")] = status
        self._added.append(name)
        vars(self).pop("table", None)

    def mend(self) -> list[tuple[Path, str]]:
        """Rename unreadable files so that readers ignore them, and remove leftovers. Newer files stay as they are.

        Returns:
            The new paths of the unreadable files, and the reasons.
        """
        for path in self.leftovers:
            path.unlink(missing_ok=True)
        unreadable = [(path, reason) for path, reason in self.unreadable.items() if path not in self.newer]
        return [(path.rename(_free_name(path)), reason) for path, reason in unreadable]

    @property
    def newer(self) -> list[Path]:
        """Files that a newer version of this program wrote."""
        return [path for path, reason in self.unreadable.items() if reason.startswith(NEWER)]

    def _read(self, names: Sequence[str]) -> tuple[list[pa.Table], dict[str, Row]]:
        """Return the tables of the files at the top, and the row of each file below."""
        paths = [self._cells / name for name in names]
        read = _read_files(paths, CELLS)
        self.unreadable |= {paths[place]: reason for place, reason in sorted(read.refused.items())}
        keys, ends = _keys(read.table), np.cumsum([0, *read.lengths]).tolist()
        published, deep = [], {}
        for name, path, (first, end) in zip(names, paths, pairwise(ends), strict=True):
            place = name.removesuffix(".parquet")
            if path in self.unreadable:
                continue
            if "/" not in name:
                published.append(read.table.slice(first, end - first))
            elif keys[first:end] == [place]:
                deep[name] = first
            else:
                held = ", ".join(keys[first:end]) or "nothing"
                self.unreadable[path] = f"its place is that of {place}, and it holds {held}"
        rows = _rows(read.table.take(pa.array(list(deep.values()), pa.int64())))
        return published, dict(zip(deep, rows, strict=True))


def read_timings(out: Path) -> Rows:
    """Return the rows of `bench.schema.TIMINGS` under OUT/timings."""
    return _read_folder(out / "timings", TIMINGS)


def read_longer(out: Path) -> Rows:
    """Return the rows of `bench.schema.LONGER` under OUT/longer."""
    return _read_folder(out / "longer", LONGER)


def _read_folder(folder: Path, schema: pa.Schema) -> Rows:
    """Read the Parquet files of a folder, in the order of their names."""
    passed_over: dict[Path, str] = {}
    names = [name for name in _files(folder, passed_over) if not name.endswith(".tmp")]
    paths = [folder / name for name in sorted(names, key=lambda name: name.split("/"))]
    read = _read_files(paths, schema)
    return Rows(read.table, {paths[place]: reason for place, reason in sorted(read.refused.items())} | passed_over)


def has_cells(out: Path) -> bool:
    """Return True if any file under OUT/cells may be a result."""
    return any(not name.endswith(".tmp") for name in _files(out / "cells", {}))


def _files(folder: Path, passed_over: dict[Path, str], above: str = "") -> Iterator[str]:
    """Yield the relative path of each Parquet file and of each leftover below `folder`.

    Names that begin with a dot or an underscore are passed over, as pyarrow does when it reads a folder. Links below
    `folder` are not followed: they may lead into the results of others, or round in a circle.

    Args:
        folder: The folder.
        passed_over: Is given the other entries that look like results, with the reason.
        above: Path of `folder` below the first one, with a slash at its end.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as problem:
        passed_over[folder] = f"it cannot be listed: {problem.strerror}"
        return
    for entry in entries:
        hidden, path = entry.name.startswith((".", "_")), Path(entry.path)
        if entry.name.endswith(".tmp") and entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
            yield above + entry.name
        elif hidden:
            continue
        elif entry.is_symlink():
            passed_over[path] = "it is a link, which is not followed"
        elif not entry.name.endswith(".parquet"):
            if entry.is_dir(follow_symlinks=False):
                yield from _files(path, passed_over, f"{above}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            yield above + entry.name
        else:
            is_folder = entry.is_dir(follow_symlinks=False)
            passed_over[path] = f"it is {'a folder' if is_folder else 'a pipe, socket or device'}, not a file"


class _Read(NamedTuple):
    """Rows of files.

    Attributes:
        table: All rows, in the order of the files.
        lengths: The number of rows of each file; 0 for those that are not results.
        refused: The reason why a file is not a result, by its place in the list.
    """

    table: pa.Table
    lengths: list[int]
    refused: dict[int, str]


class _NotAResult(Exception):
    """A file is not a result; the message says why."""


def _read_files(paths: Sequence[Path], schema: pa.Schema) -> _Read:
    """Return the rows of files, read on all cores: a file of one row takes 2 to 3 ms, mostly to set up columns."""
    n_processes = 1
    if len(paths) >= 2 * SHARE:
        from joblib import Parallel, cpu_count, delayed

        n_processes = min(cpu_count(), len(paths) // SHARE)
    if n_processes == 1:
        return _read_share(paths, schema)
    ends = [len(paths) * share // n_processes for share in range(n_processes + 1)]
    parts = Parallel(n_processes)(delayed(_read_share)(paths[first:end], schema) for first, end in pairwise(ends))
    return _Read(
        pa.concat_tables([part.table for part in parts]),
        [length for part in parts for length in part.lengths],
        {first + place: why for first, part in zip(ends, parts, strict=False) for place, why in part.refused.items()},
    )


def _read_share(paths: Sequence[Path], schema: pa.Schema) -> _Read:
    tables: dict[int, pa.Table] = {}
    refused: dict[int, str] = {}
    for place, path in enumerate(paths):
        try:
            tables[place] = unsealed(path.read_bytes())
        except Damaged as problem:
            refused[place] = str(problem)
        except OSError as problem:
            refused[place] = f"it cannot be read: {problem.strerror}"
    parts, origins = [schema.empty_table()], []
    for places in _alike(tables):
        try:
            parts.append(_checked(pa.concat_tables([tables[place] for place in places]).combine_chunks(), schema))
            origins += [place for place in places for _ in range(len(tables[place]))]
        except _NotAResult:  # one of these files is at fault
            for place in places:
                try:
                    parts.append(_checked(tables[place], schema))
                    origins += [place] * len(tables[place])
                except _NotAResult as reason:
                    refused[place] = str(reason)
    table = pa.concat_tables(parts).take(np.argsort(origins, kind="stable"))
    return _Read(table, np.bincount(np.array(origins, int), minlength=len(paths)).tolist(), refused)


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
    """Return the columns of `schema`; those that the table lacks are null, unknown ones are dropped.

    Raises:
        _NotAResult: If a value is missing that every result has, or a version, type or status is not one of a result,
            or a value cannot be understood.
    """
    try:
        accepted = _with_columns(table, schema)
        accepted.validate(full=True)
        _check_values(accepted)
        return accepted
    except _NotAResult:
        raise
    except Exception as problem:  # no file that somebody made may end a command
        raise _NotAResult(f"it is not a result: {type(problem).__name__} when it was read") from problem


def _check_values(table: pa.Table) -> None:
    """Raise unless every text that should be a JSON object is one, and every time can be read."""
    for field in table.schema:
        if field.name in JSON_OBJECTS:
            for text in pc.unique(table[field.name]).to_pylist():
                if not (text is None or _is_json_object(text)):
                    raise _NotAResult(f"its column {field.name} is not a JSON object")
        elif pa.types.is_timestamp(field.type):
            table[field.name].to_pylist()  # raises for years that Python cannot count


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    present = set(table.column_names)
    if "schema_version" not in present:
        raise _NotAResult("it is not a result: it has no column schema_version")
    versions = set(table["schema_version"].to_pylist())
    if not versions <= set(READABLE_VERSIONS):
        got, readable = (", ".join(sorted(map(str, some))) for some in (versions, READABLE_VERSIONS))
        newer = any(isinstance(version, int) and version > max(READABLE_VERSIONS) for version in versions)
        reason = f"its schema version is {got}; this program reads {readable}"
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
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    with suppress(pa.ArrowException):
        if pa.types.is_null(column.type) or pa.types.is_string(column.type) == pa.types.is_string(field.type):
            return column.cast(field.type)
    raise _NotAResult(f"its column {field.name} has the type {column.type}, and {field.type} was expected")


def _keys(table: pa.Table) -> list[str]:
    return [cell_key(*values) for values in zip(*(table[name].to_pylist() for name in KEY), strict=True)]


def _rows(table: pa.Table) -> list[Row]:
    names = [name for name in table.column_names if table[name].null_count < len(table)]
    return [_values(row) for row in table.select(names).to_pylist()]


def _values(row: Mapping[str, Any]) -> Row:
    return {name: value for name, value in row.items() if value is not None and name in CELL_NAMES}


def _as_table(rows: Iterable[Row]) -> pa.Table:
    rows = list(rows)
    present = {name for row in rows for name in row}
    columns = [
        pa.array([row.get(field.name) for row in rows], field.type)
        if field.name in present
        else pa.nulls(len(rows), field.type)
        for field in CELLS
    ]
    return pa.table(columns, schema=CELLS)


def _free_name(path: Path) -> Path:
    """Return a name beside `path` that begins with an underscore, which readers of the folder pass over."""
    number = 0
    while (aside := path.with_name(f"_{path.name}.unreadable{number or ''}")).exists():
        number += 1
    return aside
