"""Rows of a results folder that were read before, in one file, so that thousands of files need not be opened again.

The file is a hidden one in the results folder. Rows are taken from it only if their own file still has the size and the
time of change that it had when it was read; a cache that cannot be read, or written, is as good as none.
"""

import contextlib
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.schema import CELLS
from leaderboards.data.files import Read, read_files

NAME = ".cells-read-before.parquet"
WORTHWHILE = 200  # files: what can be read in half a second needs no cache
SHARE = 1000  # files that a process of its own is worth: it takes about a second to start

Seal = tuple[str, int, int]  # path below the folder, bytes, nanoseconds
SEALS = pa.schema([("path", pa.string()), ("size", pa.int64()), ("changed", pa.int64())])
SCHEMA = pa.schema([*SEALS, *CELLS])


def read_through_cache(folder: Path, paths: Sequence[Path]) -> Read:
    """What `files.read_files` gives of `paths`, which are below `folder`."""
    seals = [_seal(folder, path) for path in paths]
    known = _known(folder)
    places = {seal: place for place, seal in enumerate(seals)}
    held = [places.get(seal, -1) for seal in _seals(known)]
    fresh = sorted(set(range(len(paths))) - set(held))
    read = _read([paths[place] for place in fresh])

    own = [place for place, length in zip(fresh, read.lengths, strict=True) for _ in range(length)]
    columns = zip(*(seals[place] for place in own), strict=True) if own else ([], [], [])
    new = pa.table([*columns, *read.table.columns], schema=SCHEMA)
    still = known.filter(pa.array(np.array(held, int) >= 0))
    where = np.array([*(place for place in held if place >= 0), *own], int)
    table = pa.concat_tables([still, new]).take(np.argsort(where, kind="stable"))
    if len(fresh) - len(read.refused) >= WORTHWHILE:
        _keep(folder, table)
    lengths = np.bincount(where, minlength=len(paths)).tolist()
    return Read(table.select(CELLS.names), lengths, {fresh[place]: reason for place, reason in read.refused.items()})


def _read(paths: Sequence[Path]) -> Read:
    """`read_files` of many files on all cores: a file of one row takes 2 to 3 ms, nearly all of it for its columns."""
    from joblib import Parallel, cpu_count, delayed

    n = min(cpu_count(), len(paths) // SHARE)
    if n < 2:
        return read_files(paths)
    ends = [len(paths) * share // n for share in range(n + 1)]
    parts = Parallel(n)(delayed(read_files)(paths[first:last]) for first, last in pairwise(ends))
    refused = {
        first + place: why for first, part in zip(ends[:-1], parts, strict=True) for place, why in part.refused.items()
    }
    lengths = [length for part in parts for length in part.lengths]
    return Read(pa.concat_tables([part.table for part in parts]), lengths, refused)


def _seal(folder: Path, path: Path) -> Seal:
    try:
        status = path.stat()
    except OSError:  # gone since it was listed; the reader will say so
        return path.relative_to(folder).as_posix(), -1, -1
    return path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns


def _seals(table: pa.Table) -> list[Seal]:
    return list(zip(*(table[name].to_pylist() for name in SEALS.names), strict=True))


def _known(folder: Path) -> pa.Table:
    try:
        table = pq.read_table(folder / NAME, partitioning=None)
    except (OSError, pa.ArrowException):
        return SCHEMA.empty_table()
    return table if table.schema.equals(SCHEMA) else SCHEMA.empty_table()


def _keep(folder: Path, table: pa.Table) -> None:
    temporary = folder / f"{NAME}.{os.getpid()}.tmp"
    with contextlib.suppress(OSError):  # a folder of somebody else's
        pq.write_table(table, temporary)
        os.replace(temporary, folder / NAME)
