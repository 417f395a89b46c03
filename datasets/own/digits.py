"""Warnings about digits that reading as numbers loses: leading zeros, and those after the fifteenth.

Such columns are often codes, such as postcodes or account numbers, rather than amounts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockstep_bench.datasets.own.reading import Column
from lockstep_bench.datasets.own.wording import examples

if TYPE_CHECKING:
    import pandas as pd

PADDED = r"[-+−]?0\d+"
LONG = r"[-+−]?0*[1-9]\d{15,}"
FIRST_LONG = 10**15  # the first whole number of 16 digits; double precision holds all whole numbers up to 9e15
TO_KEEP = "if they are codes, put a letter before each to have categories"


def doubts_about_digits(name: str, column: Column) -> list[str]:
    """Return warnings about the digits that a column of numbers loses."""
    texts = column.numbers.texts.dropna() if column.numbers else column.cells.iloc[:0].astype(str)
    padded = texts[texts.str.fullmatch(PADDED)]
    long = texts[texts.str.fullmatch(LONG)] if column.numbers else _long(column.cells)
    doubts = []
    if len(padded):
        doubts.append(f"numbers of column {name!r} begin with zeros ({examples(padded)}), which are lost; {TO_KEEP}")
    if len(long):
        doubts.append(
            f"whole numbers of column {name!r} have more than 15 digits ({examples(long)}), and only the first 15 are "
            f"kept exactly; {TO_KEEP}, or remove the column"
        )
    return doubts


def _long(numbers: pd.Series) -> pd.Series:
    """Return the whole numbers of more than 15 digits in a column of a Parquet file."""
    is_whole = numbers.dtype.kind in "iu"
    present = numbers.dropna() if is_whole else numbers.iloc[:0]
    return present[(present >= FIRST_LONG) | (present <= -FIRST_LONG)]
