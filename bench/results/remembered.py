"""Rows of cells that were read before, in the user's cache folder.

A row is found by the SHA-256 of its file's bytes, so a file that has changed is read again, whatever its name, size and
time. Nothing is taken from a results folder, which others may have filled. There is a file of lines for each results
folder; each line holds a checksum of its own, and lines that were cut or damaged are passed over. The file may be
deleted at any time. The environment variable BENCH_ROWS_CACHE names another folder.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

from bench.results.storage import write_atomically
from bench.schema import CELLS, cell_key

Row = dict[str, Any]  # by column; null values may be missing

WORTHWHILE = 200  # files: what can be read in half a second is not remembered
VERSION = sha256(CELLS.to_string().encode()).hexdigest()[:8]  # rows of programs with other columns are not read
KEY = ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed")


class Remembered:
    """The rows of one results folder's files that were read before.

    Args:
        out: The results folder.
    """

    def __init__(self, out: Path) -> None:
        folder = sha256(os.fsencode(out.resolve())).hexdigest()[:16]
        self._path = _cache_folder() / f"{VERSION}-{folder}.txt"
        self._digests: dict[str, str] = {}
        self._known: dict[str, Row] = {}

    def rows(self, files: Mapping[str, Path]) -> dict[str, Row]:
        """Return the rows of those of the files that were read before with the same content, at the same place.

        Args:
            files: Paths of files that hold one cell each, by their names below OUT/cells.
        """
        if len(files) < WORTHWHILE:
            return {}
        stored = _read(self._path)
        for name, path in files.items():
            with suppress(OSError):
                self._digests[name] = sha256(path.read_bytes()).hexdigest()
        place = {name: name.removesuffix(".parquet") for name in files}
        found = {name: stored[digest] for name, digest in self._digests.items() if digest in stored}
        self._known = {name: row for name, row in found.items() if cell_key(*(row[key] for key in KEY)) == place[name]}
        return dict(self._known)

    def add(self, rows: Mapping[str, Row]) -> None:
        """Remember the rows of further files, by name, if they are many; no failure to do so is an error."""
        new = {name: row for name, row in rows.items() if name in self._digests}
        if len(new) < max(WORTHWHILE, len(self._known) // 10):  # each time, all are written
            return
        lines = [_line(self._digests[name], row) for name, row in (self._known | new).items()]
        with suppress(OSError):
            write_atomically(b"".join(lines), self._path)


def _cache_folder() -> Path:
    if given := os.environ.get("BENCH_ROWS_CACHE"):
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("lockstep-bench", appauthor=False) / "rows"


def _line(digest: str, row: Row) -> bytes:
    text = f"{digest} {json.dumps(row, default=datetime.isoformat)}".encode()
    return b"%08x %s\n" % (crc32(text), text)


def _read(path: Path) -> dict[str, Row]:
    """Return the rows of the lines that are whole, by the SHA-256 of their files."""
    rows: dict[str, Row] = {}
    with suppress(OSError):
        for line in path.read_bytes().splitlines():
            check, _, text = line.partition(b" ")
            with suppress(ValueError, TypeError, KeyError):
                if int(check, 16) != crc32(text):
                    continue
                digest, _, values = text.decode().partition(" ")
                row = json.loads(values)
                row["finished_at"] = datetime.fromisoformat(row["finished_at"])
                rows[digest] = row
    return rows
