"""Overview of a user's own table for checking before a run: each column's kind, remarks and an example."""

from __future__ import annotations

from typing import NamedTuple

from lockstep_bench.datasets.own.reading import Column
from lockstep_bench.datasets.own.table import Table, columns_in
from lockstep_bench.datasets.own.wording import examples


class ColumnLine(NamedTuple):
    """Description of a column for display.

    Attributes:
        name: name of the column.
        kind: number, category, or target.
        how: remark such as the number of distinct values or of missing cells; "" if there is nothing to say.
        example: text of the column's first cell.
    """

    name: str
    kind: str
    how: str
    example: str


def overview(table: Table) -> list[ColumnLine]:
    """Return a description of each column of a table, the target first."""
    columns = columns_in(table)
    target = columns.pop(table.target)
    of_target = f"{table.n_classes} classes" if table.n_classes else ""
    lines = [ColumnLine(name, column.kind, _how(column), _example(column)) for name, column in columns.items()]
    return [ColumnLine(table.target, "target", of_target, _example(target)), *lines]


def _how(column: Column) -> str:
    n_missing = int(column.cells.isna().sum())
    signs = f" ({examples(column.placeholders)})" if len(column.placeholders) else ""
    values = [f"{column.cells.nunique()} different texts"] if column.kind == "category" else []
    return ", ".join([*values, *([f"{n_missing} missing{signs}"] if n_missing else [])])


def _example(column: Column) -> str:
    cell = column.cells.dropna().iloc[0]
    return f"{cell:.10g}" if column.kind == "number" else repr(str(cell))
