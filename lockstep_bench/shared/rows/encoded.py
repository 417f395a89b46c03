"""Tables with dictionary-encoded texts: a text that 100,000 rows share is held in memory once."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

PYTHON_TEXT = pd.StringDtype("python", na_value=np.nan)


def encoded(table: pa.Table) -> pa.Table:
    """Return the table with every text column dictionary-encoded, as a single chunk."""
    columns = [_encoded(_whole(column)) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return one encoded table with the rows of several encoded tables of the same columns, one after the other.

    Its columns have a chunk for each table, because a copy of 100,000 rows takes 150 MB.
    """
    filled = [table for table in tables if len(table)] or tables[:1]
    if len(filled) == 1:
        return filled[0]
    return pa.concat_tables(filled).unify_dictionaries()


def distinct(column: pa.ChunkedArray) -> list[Any]:
    """Return the different values of an encoded column as Python objects, in the order of their first use."""
    unique = pc.unique(column)  # its values one by one would be looked up in its dictionary one by one
    listed: list[Any] = unique.dictionary_decode().to_pylist()
    return listed


def values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as Python objects; equal texts of an encoded column are the same object."""
    whole = _whole(column)
    dictionary = pa.types.is_dictionary(whole.type)
    listed: list[Any] = _texts(whole, None).tolist() if dictionary else whole.to_pylist()
    return listed


def as_frame(table: pa.Table, categories: Collection[str] = ()) -> pd.DataFrame:
    """Return a table as a data frame; equal texts of a column are the same Python string.

    Columns without any value share one array, because most metrics do not apply to a given task.

    Args:
        table: The table.
        categories: Text columns that become categories, in alphabetical order, which are faster to compare and group.
    """
    columns: dict[str, Any] = {}
    nothing = np.full(len(table), np.nan)
    nothing.flags.writeable = False
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
            whole = _encoded(_whole(column))
            texts = pd.array(whole.dictionary.to_pylist(), dtype=PYTHON_TEXT)  # each is looked at only once
            codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            texts = _categories(texts, codes) if name in categories else texts.take(codes, allow_fill=True)
            columns[name] = pd.Series(texts, copy=False)
        elif pa.types.is_floating(column.type) and column.null_count == len(column):
            columns[name] = pd.Series(nothing, copy=False)
        else:
            columns[name] = column.to_pandas()
    return pd.DataFrame(columns, copy=False)


def _categories(texts: Any, codes: np.ndarray) -> pd.Categorical:
    """Return categories in alphabetical order, from texts and the number of each row's text (-1 for none)."""
    occurring = np.unique(codes[codes >= 0])
    order = occurring[texts[occurring].argsort()]
    places = np.full(len(texts) + 1, -1)
    places[order] = np.arange(len(order))
    return pd.Categorical.from_codes(places[codes], pd.Index(texts[order]))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as a single array; one that is a single array already is not copied."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _encoded(column: pa.Array) -> pa.Array:
    return column.dictionary_encode() if pa.types.is_string(column.type) else column


def _texts(column: pa.DictionaryArray, missing: Any) -> np.ndarray:
    """Return the texts of an encoded column (N,), each distinct one a single object."""
    texts = np.array([*column.dictionary.to_pylist(), missing], object)
    codes = column.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
    chosen: np.ndarray = texts[codes]
    return chosen
