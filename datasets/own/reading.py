"""Reading of a table's columns as numbers, dates or categories.

A text column holds numbers by the rule in `datasets.own.numbers`. It holds dates if four fifths of its cells are dates,
months or times, and otherwise categories. A column of numbers holds dates if all are days such as 20210131. Spaces
around a cell are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.dates import are_compact_dates, are_dates, are_dates_like_numbers
from lockstep_bench.datasets.own.delimited import UNNAMED
from lockstep_bench.datasets.own.format import Format
from lockstep_bench.datasets.own.numbers import Numbers, are_in_other_notation, read_numbers
from lockstep_bench.datasets.own.wording import examples, first, in_rows

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["number", "category", "date"]


@dataclass(frozen=True)
class Column:
    """A column of a table, after its kind has been found.

    Attributes:
        kind: "number", "category" or "date".
        cells: (N,), numbers or strings; missing where a cell is empty.
        numbers: the cells read as numbers, for a text column that holds numbers; else None.
        spaced: strings that differ from another string of the column only in spaces around them.
    """

    kind: Kind
    cells: pd.Series
    numbers: Numbers | None = None
    spaced: tuple[str, ...] = ()

    @property
    def placeholders(self) -> pd.Series:
        """The strings in a column of numbers that stand for missing numbers, such as "?"."""
        return self.numbers.placeholders if self.numbers else self.cells.iloc[:0]


def columns_of(frame: pd.DataFrame, layout: Format, classes: str | None = None) -> dict[str, Column]:
    """Return the columns of a table by name, each with its kind and cells.

    Args:
        frame: the table that `datasets.own.files.read_frame` returns.
        layout: notation of the cells, given by the user.
        classes: name of the target column of a classification, if there is one. Unless all its texts are numbers, they
            are class names.

    Raises:
        InvalidTable: most cells of a column are numbers, but not all, or they are numbers in another notation.
    """
    import pandas as pd

    columns = {name: _column(frame[name], layout, name == classes) for name in map(str, frame)}
    missing = pd.to_numeric(pd.Series(layout.na_values, dtype="str"), errors="coerce").dropna()
    return {name: _without(missing, column) for name, column in columns.items()} if len(missing) else columns


def notes_on(columns: Mapping[str, Column]) -> list[str]:
    """Return a note if texts differ only in the spaces around them, which were ignored; else an empty list."""
    spaced = [repr(text) for column in columns.values() for text in column.spaced]
    return [f"Spaces around texts do not count; they are in {first(spaced)}."] if spaced else []


def inputs_of(columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return the input columns as a data frame of numbers and texts.

    Raises:
        InvalidTable: a column holds dates, or its strings differ in most rows.
    """
    import pandas as pd

    for name, column in columns.items():
        n_different, n_rows = column.cells.nunique(), len(column.cells)
        if column.kind == "date":
            raise InvalidTable(
                f"the column {name!r} holds dates or times ({examples(column.cells.dropna())}); turn them into "
                "numbers, such as days or months since the first, or remove it; if they are codes, put a letter before "
                "each to have categories"
            )
        if column.kind == "category" and 2 * n_different > n_rows:
            raise InvalidTable(
                f"the column {name!r} has {n_different} different texts in {n_rows} rows "
                f"({examples(column.cells.dropna())}), like a name, an ID or a remark; remove it, or turn it into "
                "numbers or a few categories"
            )
    return pd.DataFrame({name: column.cells for name, column in columns.items()})


def check_names(frame: pd.DataFrame, target: str, layout: Format) -> None:
    """Raise InvalidTable if a file's first line looks like a row of data, or its first column like row numbers.

    The first line looks like a row of data in two cases. At least half of its cells are numbers that do not count up by
    one, and the target's name is none of the other cells. Or the target's name is also a value in the target's column.

    Args:
        frame: the table that `datasets.own.files.read_frame` returns, with column names.
        target: name of the column that is predicted.
        layout: notation of numbers.
    """
    import pandas as pd

    names = pd.Series(frame.columns)
    numbers = pd.to_numeric(names.str.replace(",", "."), errors="coerce")
    mostly_numbers = 2 * numbers.notna().sum() >= len(names) and not (numbers.dropna().diff().iloc[1:] == 1).all()
    confirmed = target in set(names[numbers.isna()])
    if frame.index.name == "line" and (_is_a_class(frame[target], target, layout) if confirmed else mostly_numbers):
        raise InvalidTable(
            f"the first line of the table holds {first(list(map(repr, names)))}, like a row of it and not like names; "
            "give --no-header, which calls the columns 1, 2, 3, ..., or write a line of names before it"
        )
    if names[:1].str.startswith(UNNAMED).any():
        cells = pd.to_numeric(frame.iloc[:, 0], errors="coerce")
        if cells.is_unique and (cells % 1 == 0).all():
            raise InvalidTable(
                f"the first column has no name and another whole number in each row ({examples(cells.astype(int))}), "
                "like a row number; remove it, or name it if it is an input. pandas leaves it out by `index=False`, R "
                "by `row.names = FALSE`"
            )


def _is_a_class(texts: pd.Series, name: str, layout: Format) -> bool:
    """Return whether a name is one of the values of a column that holds no numbers."""
    return bool((texts == name).any()) and read_numbers(texts, layout) is None


def _column(cells: pd.Series, layout: Format, may_hold_classes: bool) -> Column:
    """Return a column."""
    import pandas as pd
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    if isinstance(cells.dtype, pd.CategoricalDtype):  # a Parquet file says so
        return Column("category", cells.astype(object).map(str, na_action="ignore"))
    kind = infer_dtype(cells) if cells.dtype.kind == "O" else ""
    if cells.dtype.kind in "mM" or kind in ("date", "datetime", "time", "timedelta", "period"):
        return Column("date", cells)
    if kind in ("decimal", "integer", "floating", "mixed-integer-float"):
        cells = cells.astype("float64")
    if is_numeric_dtype(cells) or is_bool_dtype(cells):
        return Column("date" if are_compact_dates(cells) else "number", cells)
    if kind == "bytes":
        cells = cells.map(bytes.decode, na_action="ignore")
    written = (cells.map(str, na_action="ignore") if cells.dtype == object else cells).astype("str")
    texts = written.str.strip()
    texts = texts.mask(texts.isin(["", *layout.na_values]))
    present = texts.dropna()
    numbers = read_numbers(texts, layout)
    if numbers and not (may_hold_classes and len(numbers.others)):
        return _numbers(numbers)
    if len(present) and present.str.lower().isin(["true", "false"]).all():
        truth = texts.str.lower() == "true"
        return Column("number", truth if len(present) == len(texts) else truth.astype(float).where(texts.notna()))
    if are_dates(present):
        return Column("date", texts)
    if not may_hold_classes and are_in_other_notation(present):
        raise InvalidTable(
            f"the column {str(texts.name)!r} holds {examples(present)}, like numbers in another notation; name their "
            "separators with --decimal and --thousands, and leave units out. To have them as categories, put a letter "
            "before each"
        )
    return _category(texts, written)


def _numbers(numbers: Numbers) -> Column:
    """Return a column of numbers, which must have no other texts, or of dates that are written like numbers."""
    texts, values, _, others = numbers
    if are_compact_dates(values) or are_dates_like_numbers(texts[values.notna()]):
        return Column("date", texts)
    if len(others):
        raise InvalidTable(
            f"the column {str(texts.name)!r} holds numbers but for {examples(others)} "
            f"({in_rows(others)}); correct these cells, or name them with --na-values if they stand for "
            "missing values. To have all of them as categories, put a letter before each number"
        )
    return Column("number", values, numbers)


def _without(missing: pd.Series, column: Column) -> Column:
    """Return the column with numbers that stand for missing values replaced by missing values."""
    is_number = column.kind == "number" and column.cells.dtype != bool
    return replace(column, cells=column.cells.mask(column.cells.isin(missing))) if is_number else column


def _category(texts: pd.Series, written: pd.Series) -> Column:
    """Return a column of categories (N,); `written` has the same strings with the spaces around them."""
    plain, spaced = (set(written[(written == texts) == same].dropna()) for same in (True, False))
    return Column("category", texts, spaced=tuple(sorted(text for text in spaced if text.strip() in plain)))
