"""Which cells a results folder holds, and which of its files are none.

Reading ten thousand small Parquet files takes many seconds, so what was read once is remembered in OUT/index.jsonl: for
each file its size, its time of change and of its cells what a run asks of those before it. A file that has changed
since is read again, and the index may be deleted at any time.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.results.storage import write_atomically
from bench.schema import CELLS, READABLE_VERSIONS, STATUSES, cell_key

NAME = "index.jsonl"
KEY = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")

# Of a cell: what it is, what it was made of, what it took.
REMEMBERED = (
    *(*KEY, "status", "protocol", "search_space", "data_sha256", "code_revision", "code_dirty", "device", "host"),
    *("tune_seconds", "fit_seconds", "predict_seconds_per_1000", "elapsed_seconds", "n_test", "peak_memory_mib"),
    "exclusive",
)
REQUIRED = [field.name for field in CELLS if not field.nullable]
ASKED = list(dict.fromkeys((*REQUIRED, *REMEMBERED)))
TYPES = {name: "float64" for name in REMEMBERED if pa.types.is_floating(CELLS.field(name).type)}

Row = dict[str, Any]
Stamp = list[int]  # size in bytes and time of change in nanoseconds


class NoCell(Exception):
    """A file is not what its place says; the message says why."""


class Index:
    """The files under OUT/cells as they are now.

    Attributes:
        rows: `REMEMBERED` of each finished cell, by its key.
        strange: files that are not read as results, with the reason.
        leftovers: files that a killed process had not finished.
    """

    def __init__(self, out: Path):
        self._cells, self._file = out / "cells", out / NAME
        self.rows: dict[str, Row] = {}
        self.strange: dict[Path, str] = {}
        self.leftovers: list[Path] = []
        self._entries: dict[str, tuple[Stamp, dict[str, Row]]] = {}
        remembered = self._lines()
        for path, stamp in _files(self._cells):
            name = path.relative_to(self._cells).as_posix()
            if path.name.startswith(".") and path.name.endswith(".tmp"):
                self.leftovers.append(path)
            if path.suffix != ".parquet" or path.name.startswith((".", "_")):
                continue  # nor does a reader of the folder as one data set look at them
            found = remembered.get(name)
            try:
                cells = found[1] if found and found[0] == stamp else _read(path, name)
            except NoCell as reason:
                self.strange[path] = str(reason)
            else:
                self._entries[name] = stamp, cells
                self.rows |= cells

    @property
    def statuses(self) -> dict[str, str]:
        """Of each finished cell, by its key."""
        return {key: row["status"] for key, row in self.rows.items()}

    def add(self, path: Path, key: str, row: Row) -> None:
        """A cell was stored."""
        name, cells = path.relative_to(self._cells).as_posix(), {key: _remembered(row)}
        self.rows |= cells
        self._entries[name] = _stamp(path.stat()), cells
        with suppress(OSError), self._file.open("a") as file:  # it can be had again from the files
            file.write(_line(name, *self._entries[name]))

    def mend(self) -> list[tuple[Path, str]]:
        """Rename strange files, so that no reader takes them for results, and remove leftovers.

        Returns the new names with the reasons.
        """
        for path in self.leftovers:
            path.unlink(missing_ok=True)
        renamed = [(path.rename(_free_name(path)), why) for path, why in self.strange.items()]
        if self._entries:
            lines = (_line(name, *entry) for name, entry in self._entries.items())
            write_atomically("".join(lines).encode(), self._file)
        return renamed

    def _lines(self) -> dict[str, tuple[Stamp, dict[str, Row]]]:
        """The entry of each file's last line; lines that were cut, or that somebody else wrote, are passed over."""
        found = {}
        with suppress(OSError):
            for line in self._file.read_bytes().splitlines():
                with suppress(ValueError, TypeError, KeyError, AttributeError):
                    entry = json.loads(line)
                    if all(row.keys() == set(REMEMBERED) for row in entry["cells"].values()):
                        found[entry["file"]] = entry["stamp"], entry["cells"]
        return found


def _files(folder: Path) -> Iterator[tuple[Path, Stamp]]:
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(Path(entry.path))
            else:
                yield Path(entry.path), _stamp(entry.stat())


def _stamp(stat: os.stat_result) -> Stamp:
    return [stat.st_size, stat.st_mtime_ns]


def _line(name: str, stamp: Stamp, cells: dict[str, Row]) -> str:
    return json.dumps({"file": name, "stamp": stamp, "cells": cells}) + "\n"


def _remembered(row: Row) -> Row:
    return {name: row.get(name) for name in REMEMBERED}


def _read(path: Path, name: str) -> dict[str, Row]:
    """What is remembered of the cells in a file. Raises `NoCell`.

    A file deep in the folder is one cell, whose key its place is. One at the top may have many, as published ones do.
    """
    try:
        with pq.ParquetFile(path) as file:
            present = file.schema_arrow.names
            # Threads for a few columns of one row cost four times what they read.
            table = file.read([name for name in ASKED if name in present], use_threads=False)
    except (pa.ArrowException, OSError) as problem:
        raise NoCell(f"it cannot be read as Parquet ({type(problem).__name__})") from None
    lacking = [name for name in REQUIRED if name not in present]
    if lacking:
        raise NoCell(f"it is no result: it lacks the columns {', '.join(lacking)}")
    rows = table.select(REQUIRED).to_pylist()
    for row in rows:
        if row["schema_version"] not in READABLE_VERSIONS:
            readable = ", ".join(map(str, READABLE_VERSIONS))
            raise NoCell(f"its schema version is {row['schema_version']}; this program reads {readable}")
        if row["status"] not in STATUSES or None in row.values():
            raise NoCell("it has a row without a value, or a status, that every result has")
    known = table.select([name for name in REMEMBERED if name in table.column_names]).to_pylist()
    cells = {cell_key(*(row[part] for part in KEY)): _remembered(row) for row in known}
    own = name.removesuffix(".parquet")
    if len(PurePosixPath(name).parts) > 1 and list(cells) != [own]:
        raise NoCell(f"its place is that of {own}, and it holds {', '.join(cells) or 'nothing'}")
    return cells


def _free_name(path: Path) -> Path:
    """Beside it, where readers of the folder as one data set pass over it: with an underscore."""
    number = 0
    while (aside := path.with_name(f"_{path.name}.unreadable{number or ''}")).exists():
        number += 1
    return aside
