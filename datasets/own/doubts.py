"""Warnings about columns of a user's own table that can be used, but may not be meant as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lockstep_bench.datasets.own.columns import TargetColumn
from lockstep_bench.datasets.own.digits import doubts_about_digits
from lockstep_bench.datasets.own.identifiers import likeness_to_an_identifier
from lockstep_bench.datasets.own.leaks import gives_classes_away, gives_numbers_away
from lockstep_bench.datasets.own.reading import Column
from lockstep_bench.datasets.own.sentinels import doubts_about_sentinels
from lockstep_bench.datasets.own.wording import examples

if TYPE_CHECKING:
    import pandas as pd

LEAK = "is it a leak? Remove it unless it is known before the target"


def doubts_about(columns: Mapping[str, Column], target: str, of_target: TargetColumn) -> list[str]:
    """Return warnings about the columns of a table for the person who starts a run.

    Args:
        columns: all columns of the table, by name.
        target: name of the column that is predicted.
        of_target: the target as numbers.
    """
    doubts = [doubt for name, column in columns.items() for doubt in _as_read(name, column)]
    for name, column in columns.items():
        if name != target:
            doubts += _as_input(name, column, target, of_target)
        if _is_number(column) and not (name == target and of_target.classes):
            doubts += doubts_about_sentinels(name, column.cells)
    return doubts


def _as_read(name: str, column: Column) -> list[str]:
    """Return warnings about how a column is read."""
    if column.kind == "category":
        return _alike(name, column.cells)
    return doubts_about_digits(name, column) if _is_number(column) else []


def _as_input(name: str, column: Column, target: str, of_target: TargetColumn) -> list[str]:
    """Return warnings about a column as an input."""
    cells, is_number = column.cells, _is_number(column)
    likeness = likeness_to_an_identifier(cells) if is_number else ""
    doubts = [f"column {name!r} {likeness}"] if likeness else []
    if of_target.classes and gives_classes_away(cells, of_target.y):
        doubts.append(f"column {name!r} has one value for each class of {target!r}, and another in each; {LEAK}")
    if not of_target.classes and is_number and gives_numbers_away(cells, of_target.y):
        doubts.append(f"column {name!r} gives {target!r} almost exactly, by a factor and a constant; {LEAK}")
    return doubts


def _is_number(column: Column) -> bool:
    from pandas.api.types import is_bool_dtype

    return column.kind == "number" and not is_bool_dtype(column.cells)


def _alike(name: str, texts: pd.Series) -> list[str]:
    """Return a warning if texts differ only in upper and lower case."""
    different = texts.dropna().drop_duplicates()
    alike = different[different.str.lower().duplicated(keep=False)]
    return [f"texts of column {name!r} differ in capitals only: {examples(alike.sort_values())}"] if len(alike) else []
