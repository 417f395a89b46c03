"""Cache of the rows of result files that were read before, in the user's cache folder.

A cached row is used only while the state of its file is unchanged: device, inode, size and times of the last change. A
file that was replaced has another inode. A file that was written to has another time of its last status change (ctime),
which no program can set.

The cache lies outside of results folders, which other people may have filled. It has one Parquet file per results
folder, with a checksum; a damaged file is ignored. The files may be deleted at any time. The environment variable
BENCH_ROWS_CACHE names another folder.
"""

import os
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from struct import Struct

import pyarrow as pa

from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.rows.atomic import write_atomically
from lockstep_bench.shared.rows.encoded import encoded, joined, values
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, sealed, unsealed
from lockstep_bench.shared.schema import cell_key

WORTHWHILE = 200  # files: what can be read in half a second is not remembered
KEY = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
STATE, PACKED = pa.field("file_state", pa.binary()), Struct("3Q2q")
SETTLED = 2 * 10**9  # ns after a change, from which on a further change has another time on every file system
VERSION = sha256(CELLS.append(STATE).to_string().encode()).hexdigest()[:8]  # of programs with the same columns


class Remembered:
    """The cached rows of one results folder's files.

    Args:
        out: The results folder.
        columns: Columns of the rows to return, among them `KEY`.
    """

    def __init__(self, out: Path, columns: Collection[str] = CELLS.names) -> None:
        folder = sha256(os.fsencode(out.resolve())).hexdigest()[:16]
        self._path = cache_folder() / f"{VERSION}-{folder}.parquet"
        self._folder = out / "cells"
        self._schema = pa.schema([field for field in CELLS if field.name in columns])
        self._states: dict[str, bytes] = {}
        self._n_known = 0

    def rows(self, names: Sequence[str]) -> tuple[list[str], pa.Table]:
        """Return those of the files that were read before and have not changed since, and their rows.

        Args:
            names: Paths, relative to OUT/cells, of files that hold one cell each.
        """
        if len(names) < WORTHWHILE:
            return [], encoded(self._schema.empty_table())
        rows = self._stored(self._schema)
        self._states = _states(self._folder, names)
        place_of = {state: place for place, state in enumerate(rows[STATE.name].to_pylist())}
        keys = [f"{cell_key(*key)}.parquet" for key in zip(*(values(rows[name]) for name in KEY), strict=True)]
        found = {name: place_of[state] for name, state in self._states.items() if state in place_of}
        places = {name: place for name, place in found.items() if keys[place] == name}
        self._n_known = len(places)
        return list(places), rows.select(self._schema.names).take(pa.array(places.values(), pa.int64()))

    def add(self, names: Sequence[str], rows: pa.Table) -> None:
        """Add the rows of further files, in all columns, to the cache, if they are many. Failures are ignored."""
        new = [place for place, name in enumerate(names) if name in self._states]
        if len(new) < max(WORTHWHILE, self._n_known // 10):  # each time, all are written
            return
        stored, present = self._stored(CELLS), set(self._states.values())
        states = stored[STATE.name].to_pylist()
        kept = [place for place, state in enumerate(states) if state in present]
        states = [states[place] for place in kept] + [self._states[names[place]] for place in new]
        known = stored.select(CELLS.names).take(pa.array(kept, pa.int64()))
        both = joined([known, rows.take(pa.array(new, pa.int64()))])
        with suppress(OSError):
            write_atomically(
                sealed(both.append_column(STATE, pa.array(states, STATE.type)), compression="zstd"), self._path
            )

    def _stored(self, schema: pa.Schema) -> pa.Table:
        """Return the rows of the cache, encoded, with the states of files; none if it cannot be read."""
        schema = schema.append(STATE)
        with suppress(OSError, Damaged, pa.ArrowException, KeyError):
            stored = encoded(unsealed(self._path.read_bytes(), schema).unify_dictionaries().select(schema.names))
            pa.default_memory_pool().release_unused()  # or it keeps a fifth of what a resumed run takes
            return stored
        return encoded(schema.empty_table())


def _states(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the state (see the module) of each existing file; equal states mean equal content.

    Files that were changed in the last moment are left out, and so are all files on systems without the time of the
    last status change (Windows).
    """
    if os.name != "posix":
        return {}
    states, before = {}, time.time_ns() - SETTLED
    for name in names:
        with suppress(OSError):
            found = os.stat(f"{folder}/{name}")
            if found.st_ctime_ns < before:
                times = found.st_mtime_ns, found.st_ctime_ns
                states[name] = PACKED.pack(found.st_dev, found.st_ino, found.st_size, *times)
    return states


def cache_folder() -> Path:
    """Return the user's cache folder for rows, or the one that the environment variable names."""
    if given := os.environ.get("BENCH_ROWS_CACHE"):
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / "rows"
