"""Reading a table from a file: CSV, TSV or Parquet."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.delimited import read_delimited
from lockstep_bench.datasets.own.format import AS_FOUND, Format
from lockstep_bench.datasets.paths import regular, shown

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".tsv", ".parquet")


def looks_like_a_table(name: str) -> bool:
    """Return whether a name that was given for a data set looks like a table's file name, such as "data.csv"."""
    return Path(name).suffix.lower() in SUFFIXES or Path(name).is_file()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes."""
    return hashlib.sha256(_content(path)).hexdigest()


def read_frame(path: Path, layout: Format = AS_FOUND) -> pd.DataFrame:
    """Return the table in a file. All cells of a CSV or TSV file are read as strings, an empty cell as "".

    Columns of a CSV file are separated by commas, or by semicolons if its first line has more semicolons. Columns of a
    TSV file are separated by tabs. A named index of a Parquet file becomes a column. The index of the result holds line
    numbers of a text file, or row numbers of a Parquet file.

    Args:
        path: a .csv, .tsv or .parquet file.
        layout: notation of the cells, given by the user.

    Raises:
        InvalidTable: the file is missing or cannot be read, two columns have the same name, or a cell is not a single
            number or string.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidTable(f"{shown(path)} is not a .csv, .tsv or .parquet file; save the table as one of these")
    if suffix == ".parquet" and layout.no_header:
        raise InvalidTable(f"{shown(path)} has names of columns, as all Parquet files; leave --no-header out")
    content = _content(path)
    if suffix == ".parquet":
        frame = _parquet(path, content)
    else:
        frame = read_delimited(str(path), content, suffix, layout.no_header)
    if twice := [name for name, count in Counter(frame.columns).items() if count > 1]:
        raise InvalidTable(
            f"{path} has several columns called {twice[0]!r}; give each column a name of its own, or give --no-header "
            "if the first line is a row"
        )
    for name in map(str, frame):
        if frame[name].dtype == object:
            _check_cells(name, frame[name])
    return frame


def _parquet(path: Path, content: bytes) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(content))
        named = [name for name in frame.index.names if name is not None]
        frame = frame.reset_index(named).reset_index(drop=True)
    except (ValueError, OSError) as error:  # pyarrow raises kinds of them
        raise InvalidTable(f"{path} cannot be read as a table: {error}. Save it as a Parquet or CSV file") from error
    frame.columns = frame.columns.map(str)
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="row")
    return frame


def _check_cells(name: str, column: pd.Series) -> None:
    """Raise InvalidTable for a Parquet column with a cell that is not a single number or string."""
    for kind in set(map(type, column)):
        if kind.__hash__ is None:
            raise InvalidTable(
                f"the column {name!r} holds {'records' if kind is dict else 'lists'}, and a cell must be one number or "
                "one text; save each of their values as a column of its own, or leave the column out of the file"
            )
        if kind is bytes:
            try:
                column.astype(str)
            except UnicodeDecodeError:
                raise InvalidTable(
                    f"the column {name!r} holds bytes that are no text in UTF-8; save numbers or texts in their place, "
                    "or leave the column out of the file"
                ) from None


def _content(path: Path) -> bytes:
    try:
        return regular(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidTable(f"there is no file {shown(path)}; check the path") from error
    except OSError as error:
        raise InvalidTable(f"{shown(path)} cannot be read: {error.strerror}; check the path") from error
