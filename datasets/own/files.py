"""Reading a table from a file: CSV, TSV or Parquet."""

from __future__ import annotations

import csv
import hashlib
import io
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from datasets.errors import InvalidTable
from datasets.paths import regular, shown

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".tsv", ".parquet")


def looks_like_a_table(name: str) -> bool:
    """Return whether a name that was given for a data set is that of a file with a table."""
    return Path(name).suffix.lower() in SUFFIXES or Path(name).is_file()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes."""
    return hashlib.sha256(_content(path)).hexdigest()


def read_frame(path: Path) -> pd.DataFrame:
    """Return the table in a file, whose types pandas infers.

    A comma separates the columns of a CSV file, or a semicolon if its first line has more of these; a tab those of a
    TSV file. Empty cells and the texts that `pandas.read_csv` takes for missing, such as NA and NaN, are missing.

    Args:
        path: a .csv, .tsv or .parquet file.

    Raises:
        InvalidTable: there is no such file, it cannot be read, two columns have one name, or a cell is no single number
            or text.
    """
    import pandas as pd

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidTable(f"{shown(path)} is not a .csv, .tsv or .parquet file; save the table as one of these")
    content = _content(path)
    try:
        if suffix == ".parquet":
            frame = pd.read_parquet(io.BytesIO(content)).reset_index(drop=True)
            names = [str(name) for name in frame.columns]
        else:
            text = content.decode("utf-8-sig")
            separator = "\t" if suffix == ".tsv" else _separator(text)
            names = next(csv.reader(io.StringIO(text), delimiter=separator), [])
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "error", pd.errors.ParserWarning
                )  # of rows that are cut to the first line's length
                frame = pd.read_csv(io.StringIO(text), sep=separator, low_memory=False, index_col=False)
    except (
        ValueError,
        OSError,
        csv.Error,
        pd.errors.ParserWarning,
    ) as error:  # pandas and pyarrow raise kinds of ValueError
        raise InvalidTable(
            f"{path} cannot be read as a table: {error}. Its first line must name the columns, in UTF-8"
        ) from error
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InvalidTable(f"{path} has several columns called {twice[0]!r}; give each column a name of its own")
    frame.columns = frame.columns.map(str)
    for name in map(str, frame):
        _check_cells(name, frame[name])
    return frame


def _check_cells(name: str, column: pd.Series) -> None:
    """Raise InvalidTable for a column of Parquet whose cells are no single numbers or texts."""
    for kind in set(map(type, column)) if column.dtype.kind == "O" else ():
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


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return ";" if first.count(";") > first.count(",") else ","


def _content(path: Path) -> bytes:
    try:
        return regular(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidTable(f"there is no file {shown(path)}; check the path") from error
    except OSError as error:
        raise InvalidTable(f"{shown(path)} cannot be read: {error.strerror}; check the path") from error
