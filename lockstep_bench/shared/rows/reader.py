"""Reader of a results folder OUT: finds the files that are results, and returns their rows. Imports no torch.

A cell is the result of one method on one split of a data set. A file in a subfolder of OUT/cells holds one cell, and
its path is the cell's key. A file directly in OUT/cells may hold many cells, as published results do.

Opening ten thousand small Parquet files takes half a minute. `shared.rows.rows_cache` therefore keeps their rows in the
user's cache folder.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.rows.checking import NEWER, read_files
from lockstep_bench.shared.rows.encoded import joined, values
from lockstep_bench.shared.rows.rows_cache import KEY, Remembered
from lockstep_bench.shared.schema import LONGER, TIMINGS, cell_key


class Rows(NamedTuple):
    """Rows in a subfolder of the results folder, such as `timings`; unreadable files there, with the reason."""

    table: pa.Table
    unreadable: dict[Path, str]


class CellFiles:
    """The result files under OUT/cells, found when the object is made, for a results folder OUT.

    Args:
        out: The results folder.
        cached: Whether rows of files that were read before come from the user's cache folder.
        columns: Columns that are needed, besides those that identify a cell; None for all.

    Attributes:
        unreadable: Files that cannot be read as results, with the reason, in the order of their names.
        passed_over: Links, and entries that are neither files nor folders, with the reason. They are not followed,
            opened, renamed or removed.
        leftovers: Unfinished files of processes that were killed.
    """

    def __init__(self, out: Path, *, cached: bool = True, columns: Collection[str] | None = None) -> None:
        self._cells = out / "cells"
        self._needed = CELLS.names if columns is None else [*KEY, "status", *columns]
        self.unreadable: dict[Path, str] = {}
        self.leftovers: list[Path] = []
        self.passed_over: dict[Path, str] = {}
        names = []
        for name in _files(self._cells, self.passed_over):
            if name.endswith(".tmp"):
                self.leftovers.append(self._cells / name)
            else:
                names.append(name)
        separate = [name for name in names if "/" in name]
        memory = Remembered(out, self._needed)
        known, rows = memory.rows(separate if cached else [])
        unknown = set(separate).difference(known)
        published = self._published([name for name in names if "/" not in name])
        new, new_rows = self._separate([name for name in separate if name in unknown])
        if cached:
            memory.add(new, new_rows)
        place = {name: number for number, name in enumerate((*known, *new))}
        order = pa.array([place[name] for name in separate if name in place], pa.int64())
        both = joined([self._selected(rows), self._selected(new_rows)]).take(order)
        self._rows = joined([self._selected(published), both])
        order_of = {name: number for number, name in enumerate(names)}
        name_of = {path: path.relative_to(self._cells).as_posix() for path in self.unreadable}
        self.unreadable = dict(sorted(self.unreadable.items(), key=lambda item: order_of[name_of[item[0]]]))
        self._added: list[str] = []  # their rows are read when they are needed, so that a long run takes no memory

    @property
    def encoded(self) -> pa.Table:
        """The columns that the reader was asked for, of all cells, with dictionary-encoded texts.

        Published cells come first; the others follow in the order of their file names.
        """
        if self._added:
            self._rows = joined([self._rows, self._selected(self._separate(self._added)[1])])
            self._added.clear()
        return self._rows

    @property
    def table(self) -> pa.Table:
        """The columns that the reader was asked for, of all cells, with the types of `shared.columns.CELLS`."""
        table = self.encoded
        return table.cast(pa.schema([CELLS.field(name) for name in table.column_names]))

    @cached_property
    def statuses(self) -> dict[str, str]:
        """The status of each cell, by its key."""
        return dict(zip(_keys(self.encoded), values(self.encoded["status"]), strict=True))

    def add(self, path: Path, status: str) -> None:
        """Note that a new cell was stored in the file `path` with this status."""
        name = path.relative_to(self._cells).as_posix()
        self.statuses[name.removesuffix(".parquet")] = status
        self._added.append(name)

    def mend(self) -> list[tuple[Path, str]]:
        """Rename unreadable files so that readers ignore them, and remove leftovers.

        Files that a newer version of this program wrote stay as they are.

        Returns:
            The new paths of the unreadable files, and the reasons.
        """
        for path in self.leftovers:
            path.unlink(missing_ok=True)
        unreadable = [(path, reason) for path, reason in self.unreadable.items() if path not in self.newer]
        return [(path.rename(_free_name(path)), reason) for path, reason in unreadable]

    @property
    def newer(self) -> list[Path]:
        """The unreadable files that a newer version of this program wrote."""
        return [path for path, reason in self.unreadable.items() if reason.startswith(NEWER)]

    def _selected(self, rows: pa.Table) -> pa.Table:
        return rows.select([name for name in CELLS.names if name in self._needed])

    def _published(self, names: Sequence[str]) -> pa.Table:
        """Return the rows of files at the top."""
        paths = [self._cells / name for name in names]
        read = read_files(paths, CELLS, self._needed)
        self.unreadable |= {paths[place]: reason for place, reason in sorted(read.refused.items())}
        return read.table

    def _separate(self, names: Sequence[str]) -> tuple[list[str], pa.Table]:
        """Return those of the files below that hold one cell each at its place, and their rows, in all columns."""
        paths = [self._cells / name for name in names]
        read = read_files(paths, CELLS)
        self.unreadable |= {paths[place]: reason for place, reason in sorted(read.refused.items())}
        keys, firsts = _keys(read.table), np.cumsum([0, *read.lengths]).tolist()
        cells = {}
        for number, (name, path) in enumerate(zip(names, paths, strict=True)):
            place, held = name.removesuffix(".parquet"), keys[firsts[number] : firsts[number + 1]]
            if path in self.unreadable:
                continue
            if held == [place]:
                cells[name] = firsts[number]
            else:
                self.unreadable[path] = f"its place is that of {place}, and it holds {', '.join(held) or 'nothing'}"
        return list(cells), read.table.take(pa.array(list(cells.values()), pa.int64()))


def read_timings(out: Path) -> Rows:
    """Return the rows under OUT/timings, of the schema `shared.schema.TIMINGS`, for the results folder `out`."""
    return read_folder(out / "timings", TIMINGS)


def read_longer(out: Path) -> Rows:
    """Return the rows under OUT/longer, of the schema `shared.schema.LONGER`, for the results folder `out`."""
    return read_folder(out / "longer", LONGER)


def read_folder(folder: Path, schema: pa.Schema) -> Rows:
    """Read the Parquet files of a folder, in the order of their names."""
    passed_over: dict[Path, str] = {}
    names = [name for name in _files(folder, passed_over) if not name.endswith(".tmp")]
    paths = [folder / name for name in names]
    read = read_files(paths, schema)
    return Rows(
        read.table.cast(schema), {paths[place]: reason for place, reason in sorted(read.refused.items())} | passed_over
    )


def _files(folder: Path | str, passed_over: dict[Path, str], above: str = "") -> Iterator[str]:
    """Yield the relative path of each Parquet file and of each leftover below `folder`, in the order of their names.

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
        passed_over[Path(folder)] = f"it cannot be listed: {problem.strerror}"
        return
    for entry in entries:
        name = entry.name
        if name.startswith((".", "_")):
            if name.startswith(".") and name.endswith(".tmp") and entry.is_file(follow_symlinks=False):
                yield above + name
        elif entry.is_symlink():
            passed_over[Path(entry.path)] = "it is a link, which is not followed"
        elif not name.endswith(".parquet"):
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, passed_over, f"{above}{name}/")
        elif entry.is_file(follow_symlinks=False):
            yield above + name
        else:
            is_folder = entry.is_dir(follow_symlinks=False)
            passed_over[Path(entry.path)] = (
                f"it is {'a folder' if is_folder else 'a pipe, socket or device'}, not a file"
            )


def _keys(table: pa.Table) -> list[str]:
    return [cell_key(*key) for key in zip(*(values(table[name]) for name in KEY), strict=True)]


def _free_name(path: Path) -> Path:
    """Return a name beside `path` that begins with an underscore, which readers of the folder pass over."""
    number = 0
    while (aside := path.with_name(f"_{path.name}.unreadable{number or ''}")).exists():
        number += 1
    return aside
