"""Warnings about columns of a user's own table that can be used, but may not be meant as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lockstep_bench.datasets.own.columns import TargetColumn
from lockstep_bench.datasets.own.digits import doubts_about_digits
from lockstep_bench.datasets.own.identifiers import likeness_to_an_identifier
from lockstep_bench.datasets.own.reading import Column
from lockstep_bench.datasets.own.sentinels import doubts_about_sentinels
from lockstep_bench.datasets.own.wording import examples

if TYPE_CHECKING:
    import pandas as pd


def doubts_about(columns: Mapping[str, Column], target: str, of_target: TargetColumn) -> list[str]:
    """Return warnings about the columns of a table for the person who starts a run.

    Args:
        columns: all columns of the table, by name.
        target: name of the column that is predicted.
        of_target: the target as numbers.
    """
    from pandas.api.types import is_bool_dtype

    doubts = []
    for name, column in columns.items():
        is_number = column.kind == "number" and not is_bool_dtype(column.cells)
        if column.kind == "category":
            doubts += _alike(name, column.cells)
        if is_number:
            doubts += doubts_about_digits(name, column)
        if is_number and not (name == target and of_target.classes):
            doubts += doubts_about_sentinels(name, column.cells)
        if is_number and name != target and (likeness := likeness_to_an_identifier(column.cells)):
            doubts.append(f"column {name!r} {likeness}")
    return doubts


def _alike(name: str, texts: pd.Series) -> list[str]:
    """Return a warning if texts differ only in upper and lower case."""
    different = texts.dropna().drop_duplicates()
    alike = different[different.str.lower().duplicated(keep=False)]
    return [f"texts of column {name!r} differ in capitals only: {examples(alike.sort_values())}"] if len(alike) else []
