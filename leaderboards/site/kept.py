"""Rankings, summaries and digests of pages that a build keeps for the next one of the same site, in the user's cache.

- The rows of rankings, by the digest of the results that they are computed from (`stats.remembered`).
- The summary of each data set, by the digest of its rows (`site.summaries`).
- For each data set and each method, the digest of everything that its pages are made of, and the SHA-256 of these
  pages. A page that still has these bytes stays as it is.

They count only for the code and libraries that made them. A folder that somebody handed over cannot bring its own,
damaged files are ignored, and all files may be deleted at any time. The environment variable BENCH_ROWS_CACHE names
another folder.
"""

import hashlib
import io
import json
import os
import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pyarrow as pa

from lockstep_bench.leaderboards.stats import Ranked
from lockstep_bench.leaderboards.stats.summary import Moments
from lockstep_bench.leaderboards.tables.on_demand import OnDemand
from lockstep_bench.shared.rows.atomic import write_atomically
from lockstep_bench.shared.rows.encoded import distinct, encoded, values
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, sealed, unsealed
from lockstep_bench.shared.rows.rows_cache import SETTLED, cache_folder

CODE, KEY = "code", "key"  # columns with digests, before those of a ranking or summary
TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
ROWS, SUMMARIES = (
    pa.schema([(CODE, pa.string()), (KEY, pa.string()), *((name, TYPES[kind]) for name, kind in kinds.items())])
    for kinds in (Ranked.__annotations__, Moments.__annotations__)
)
TEXTS = {field.name for schema in (ROWS, SUMMARIES) for field in schema if field.type == pa.string()}
STORED = {"compression": "zstd", "use_dictionary": sorted(TEXTS)}  # a dictionary of numbers takes most of the time
PACKAGES = ("leaderboards", "methods", "datasets", "shared")  # of this project, whose code the pages depend on
SUFFIXES = {".py", ".html", ".css", ".js", ".csv", ".tsv", ".toml"}
MOST_FILES = 60  # three for each site, of which those written last are kept
LIBRARIES = ("numpy", "pandas", "scipy", "pyarrow", "jinja2", "markupsafe")


class Kept:
    """Cache of the rows of rankings and of the digests of pages, from the last build of a site and for the next one.

    Args:
        html: the folder of the site.

    Attributes:
        code: digest of the code that makes the pages (`code_digest`).
        rows: rows of rankings, by the digest of the results that they are computed from.
        summaries: summaries of data sets (`site.summaries.Summaries.kept`).
    """

    def __init__(self, html: Path) -> None:
        self._html = html
        site = hashlib.sha256(os.fsencode(html.resolve())).hexdigest()[:16]
        self._of_rows, self._of_summaries, self._of_pages = (
            cache_folder() / f"pages-{site}.{kind}" for kind in ("parquet", "summaries.parquet", "json")
        )
        self.code = code_digest()
        self.rows = self._stored_rows()
        self.summaries = self._stored(self._of_summaries, SUMMARIES)
        self._pages = self._stored_pages()
        self._new: dict[str, dict[str, str]] = {}

    def unchanged(self, key: str) -> list[str]:
        """Return the pages that were made from content with the digest `key`; [] if one of the files has changed."""
        pages = self._pages.get(key, {})
        if not pages or not all(_has(self._html / name, digest) for name, digest in pages.items()):
            return []
        self._new[key] = pages
        return list(pages)

    def add(self, key: str, pages: Mapping[str, str]) -> None:
        """Note that `pages`, texts by name, were made from content with the digest `key`."""
        self._new[key] = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in pages.items()}

    def write(self, rows: Mapping[str, Sequence[Ranked]], summaries: pa.Table) -> None:
        """Store the pages, rows and summaries of this build, and remove what was kept longest ago. Ignore failures."""
        with suppress(OSError):
            if set(distinct(summaries[KEY])) != set(distinct(self.summaries[KEY])):
                code = pa.DictionaryArray.from_arrays(np.zeros(len(summaries), np.int32), pa.array([self.code]))
                write_atomically(sealed(summaries.add_column(0, CODE, code), **STORED), self._of_summaries)
            if self._new != self._pages:
                write_atomically(json.dumps({"code": self.code, "pages": self._new}).encode(), self._of_pages)
            if rows.keys() != self.rows.keys():
                write_atomically(sealed(self._table(rows), **STORED), self._of_rows)
            oldest_first = sorted(cache_folder().glob("pages-*"), key=lambda path: path.stat().st_mtime)
            for path in oldest_first[:-MOST_FILES]:
                path.unlink(missing_ok=True)

    def _table(self, rows: Mapping[str, Sequence[Ranked]]) -> pa.Table:
        lines = [(self.code, key, *row) for key, of_key in rows.items() for row in of_key]
        columns = zip(*lines, strict=True) if lines else [()] * len(ROWS)
        return pa.table(
            [pa.array(column, field.type) for column, field in zip(columns, ROWS, strict=True)], schema=ROWS
        )

    def _stored(self, path: Path, schema: pa.Schema) -> pa.Table:
        """Return the encoded rows of a file without the code; none if other code wrote them or they cannot be read."""
        with suppress(OSError, Damaged):
            stored = unsealed(path.read_bytes(), schema)
            if stored.column_names == schema.names and stored[CODE].unique().to_pylist() == [self.code]:
                return encoded(stored.drop(CODE))
        return encoded(schema.empty_table().drop(CODE))

    def _stored_rows(self) -> OnDemand[list[Ranked]]:
        stored = self._stored(self._of_rows, ROWS)
        ends: dict[str, int] = {name: end for end, name in enumerate(values(stored[KEY]), start=1)}
        starts = dict(zip(ends, [0, *ends.values()], strict=False))

        def rows(name: str) -> list[Ranked]:
            of_key = stored.slice(starts[name], ends[name] - starts[name]).drop(KEY)
            return list(map(Ranked._make, zip(*map(values, of_key.columns), strict=True)))

        return OnDemand(ends, rows)  # those of pages that stay are not needed

    def _stored_pages(self) -> dict[str, dict[str, str]]:
        try:
            stored = json.loads(self._of_pages.read_bytes())
            return dict(stored["pages"]) if stored["code"] == self.code else {}
        except (OSError, ValueError, LookupError, TypeError):
            return {}


def _has(path: Path, digest: str) -> bool:
    """Return whether a path is a file, and no link, whose bytes have the SHA-256 `digest`."""
    if path.is_symlink() or not path.is_file():
        return False
    return hashlib.sha256(path.read_bytes()).hexdigest() == digest


def digest_of(*parts: object) -> str:
    """Return a digest of bytes, and of objects that their `repr` describes completely."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def packed(content: object) -> bytes:
    """Return bytes that describe named tuples, lists, dictionaries, texts and numbers, 15 times as fast as `repr` does.

    Equal contents have equal bytes, whether or not their parts are the same object.
    """
    stored = io.BytesIO()
    pickler = pickle.Pickler(stored)
    pickler.fast = True  # without references to objects that came before
    pickler.dump(content)
    return stored.getvalue()


def states(places: Sequence[Path]) -> list[tuple[object, ...]]:
    """Return the state of each file among the given files and folders; it differs after any change of the file.

    As in `shared.rows.rows_cache`, two changes at nearly the same time may have equal time stamps, and Windows keeps no
    time of change. A file that changed a moment ago, or any file on Windows, therefore has a new state at each call.
    """
    found: list[tuple[object, ...]] = []
    below = (entry for place in places if os.path.isdir(place) for entry in os.walk(place))
    paths = [os.path.join(above, name) for above, _, names in below for name in names]
    for path in sorted([*paths, *filter(os.path.isfile, map(str, places))]):
        with suppress(OSError):
            state, now = os.lstat(path), time.time_ns()
            settled = os.name == "posix" and state.st_ctime_ns < now - SETTLED
            times = (state.st_mtime_ns, state.st_ctime_ns) if settled else (now,)
            found.append((path, state.st_dev, state.st_ino, state.st_size, *times))
    return found


def code_digest() -> str:
    """Return a digest of the code, templates and tables that make the pages, and of the libraries' versions."""
    digest, root = hashlib.sha256(sys.version.encode()), Path(__file__).parents[2]
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*")):
        if path.suffix in SUFFIXES:
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()
