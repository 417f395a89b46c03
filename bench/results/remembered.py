"""Rows of cells that were read before, in the user's cache folder.

A row is found by the SHA-256 of its file's bytes, so a file that has changed is read again, whatever its name, size and
time. The hash of a file that was hashed before is taken from here while the file system vouches that nobody has touched
it (`bench.results.untouched`). Nothing is taken from a results folder, which others may have filled. There is a Parquet
file for each results folder, which carries a digest of its own; a damaged one is passed over. It may be deleted at any
time. The environment variable BENCH_ROWS_CACHE names another folder.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from lockstep_bench.bench.results.encoded import encoded, joined, values
from lockstep_bench.bench.results.sealed import Damaged, sealed, unsealed
from lockstep_bench.bench.results.storage import write_atomically
from lockstep_bench.bench.results.untouched import states_of
from lockstep_bench.bench.schema import CELLS, cell_key

PART = 2**16  # bytes read at a time; most files have fewer
WORTHWHILE = 200  # files: what can be read in half a second is not remembered
KEY = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")
DIGEST, STATE = pa.field("file_sha256", pa.binary()), pa.field("file_state", pa.binary())
STORED = CELLS.append(DIGEST).append(STATE)
VERSION = sha256(STORED.to_string().encode()).hexdigest()[:8]  # rows of programs with other columns are not read


class Remembered:
    """The rows of one results folder's files that were read before.

    Args:
        out: The results folder.
        columns: Columns that rows are returned with, among them `KEY`.
    """

    def __init__(self, out: Path, columns: Collection[str] = CELLS.names) -> None:
        folder = sha256(os.fsencode(out.resolve())).hexdigest()[:16]
        self._path = _cache_folder() / f"{VERSION}-{folder}.parquet"
        self._folder = out / "cells"
        self._schema = pa.schema([field for field in CELLS if field.name in columns])
        self._digests: dict[str, bytes] = {}
        self._states: dict[str, bytes] = {}
        self._n_known = self._n_hashed = 0

    def rows(self, names: Sequence[str]) -> tuple[list[str], pa.Table]:
        """Return those of the files that were read before with the same content, at the same place, and their rows.

        Args:
            names: Names below OUT/cells of files that hold one cell each.
        """
        if len(names) < WORTHWHILE:
            return [], encoded(self._schema.empty_table())
        rows = self._stored(self._schema)
        self._states = states_of(self._folder, names)
        place_of = {state: place for place, state in enumerate(rows[STATE.name].to_pylist())}
        places = {name: place_of[state] for name, state in self._states.items() if state in place_of}
        self._digests = dict(zip(places, rows[DIGEST.name].take(_places(places)).to_pylist(), strict=True))
        changed = [name for name in names if name not in places]
        # Reading and hashing leave Python to other threads. A thread is given many files, because handing over one
        # takes as long as hashing it.
        shares = [changed[first : first + WORTHWHILE] for first in range(0, len(changed), WORTHWHILE)]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            for digests in threads.map(self._digests_of, shares):
                self._digests.update(digests)
        if changed:
            place_of = {digest: place for place, digest in enumerate(rows[DIGEST.name].to_pylist())}
            found = {name: self._digests.get(name) for name in changed}
            places |= {name: place_of[digest] for name, digest in found.items() if digest in place_of}
        keys = [f"{cell_key(*key)}.parquet" for key in zip(*(values(rows[name]) for name in KEY), strict=True)]
        places = {name: place for name, place in places.items() if keys[place] == name}
        self._n_known, self._n_hashed = len(places), sum(name in places and name in self._states for name in changed)
        return list(places), rows.select(self._schema.names).take(_places(places))

    def add(self, names: Sequence[str], rows: pa.Table) -> None:
        """Remember the rows of further files, in all columns, and the states of all that were hashed, if they are many.

        No failure to do so is an error.
        """
        if max(len(names), self._n_hashed) < max(WORTHWHILE, self._n_known // 10):  # each time, all are written
            return
        new = [place for place, name in enumerate(names) if name in self._digests]
        stored = self._stored(CELLS)
        digests = stored[DIGEST.name].to_pylist()
        state_of = {digest: self._states.get(name) for name, digest in self._digests.items()}
        kept = [place for place, digest in enumerate(digests) if digest in state_of]
        digests = [digests[place] for place in kept] + [self._digests[names[place]] for place in new]
        known = stored.select(CELLS.names).take(pa.array(kept, pa.int64()))
        both = joined([known, rows.take(pa.array(new, pa.int64()))])
        both = both.append_column(DIGEST, pa.array(digests, DIGEST.type))
        both = both.append_column(STATE, pa.array([state_of[digest] for digest in digests], STATE.type))
        with suppress(OSError):
            write_atomically(sealed(both, compression="zstd"), self._path)

    def _digests_of(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the SHA-256 of each file that can be read."""
        digests = {}
        for name in names:
            with suppress(OSError):
                digests[name] = _digest(f"{self._folder}/{name}")
        return digests

    def _stored(self, schema: pa.Schema) -> pa.Table:
        """Return the rows of the cache, encoded, with digests and states of files; none if it cannot be read."""
        schema = schema.append(DIGEST).append(STATE)
        with suppress(OSError, Damaged, pa.ArrowException, KeyError):
            stored = encoded(unsealed(self._path.read_bytes(), schema).unify_dictionaries().select(schema.names))
            pa.default_memory_pool().release_unused()  # or it keeps a fifth of what a resumed run takes
            return stored
        return encoded(schema.empty_table())


def _places(places: Mapping[str, int]) -> pa.Array:
    return pa.array(places.values(), pa.int64())


def _digest(path: str) -> bytes:
    """Return the SHA-256 of a file. Calls of the system alone: a hundred thousand small files are read at a time."""
    file, whole = os.open(path, os.O_RDONLY), sha256()
    try:
        part = os.read(file, PART)
        whole.update(part)
        while len(part) == PART:  # a shorter one is the last
            part = os.read(file, PART)
            whole.update(part)
    finally:
        os.close(file)
    return whole.digest()


def _cache_folder() -> Path:
    if given := os.environ.get("BENCH_ROWS_CACHE"):
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / "rows"
