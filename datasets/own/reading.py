"""Cells of a table as numbers and categories: which columns are which, and how their texts are read.

A column of texts is one of numbers by the rule in `datasets.own.numbers`, one of dates if four fifths of its texts are
dates or times, and else one of categories. Spaces around texts do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.files import UNNAMED
from lockstep_bench.datasets.own.format import Format
from lockstep_bench.datasets.own.numbers import LEAST_SHARE, Numbers, read_numbers
from lockstep_bench.datasets.own.wording import examples, first, in_rows

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["number", "category", "date"]
DATE = r"(?:\d{4}([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:\d{4}|\d{2}))(?:[ T].*)?"
TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?: ?[AaPp][Mm])?"


@dataclass(frozen=True)
class Column:
    """A column of a table as it is read.

    Attributes:
        kind: what its cells are.
        cells: (N,), numbers or texts; missing where there is none.
        numbers: the texts, where they are numbers.
        how: how the texts are written, "in kg with decimal commas"; "" where they are plain.
        spaced: texts that differ from another in spaces around them alone.
    """

    kind: Kind
    cells: pd.Series
    numbers: Numbers | None = None
    how: str = ""
    spaced: tuple[str, ...] = ()

    @property
    def placeholders(self) -> pd.Series:
        """Texts of a column of numbers that stand for missing ones."""
        return self.numbers.placeholders if self.numbers else self.cells.iloc[:0]


def columns_of(frame: pd.DataFrame, layout: Format, classes: str | None = None) -> dict[str, Column]:
    """Return the columns of a table by name.

    Args:
        frame: as `datasets.own.files.read_frame` returns it.
        layout: what a person says of the cells.
        classes: a column that holds classes, if one does: where its texts are not all numbers, they are classes.

    Raises:
        InvalidTable: most texts of a column are numbers, but not all, or they can be read as two numbers each.
    """
    import pandas as pd

    columns = {name: _column(frame[name], layout.na_values) for name in map(str, frame)}
    decimals = layout.decimals or frozenset(c.numbers.decimal for c in columns.values() if c.numbers) - {""}
    resolved = {name: _resolved(column, decimals, name == classes) for name, column in columns.items()}
    missing = pd.to_numeric(pd.Series(layout.na_values, dtype="str"), errors="coerce").dropna()
    return {name: _without(missing, column) for name, column in resolved.items()} if len(missing) else resolved


def notes_on(columns: Mapping[str, Column]) -> list[str]:
    """Return sentences on texts that were read as something else."""
    written: dict[str, list[str]] = {}
    for name, column in columns.items():
        written.setdefault(column.how, []).append(name)
    notes = [f"The numbers of {first(names)} are written {how}." for how, names in written.items() if how]
    if spaced := [repr(text) for column in columns.values() for text in column.spaced]:
        notes.append(f"Spaces around texts do not count; they are in {first(spaced)}.")
    return notes


def doubts_about(columns: Mapping[str, Column]) -> list[str]:
    """Return warnings of texts that differ in capitals only."""
    doubts = []
    for name, column in columns.items():
        if column.kind == "category":
            texts = column.cells.dropna().drop_duplicates()
            if len(alike := texts[texts.str.lower().duplicated(keep=False)]):
                doubts.append(f"texts of column {name!r} differ in capitals only: {examples(alike.sort_values())}")
    return doubts


def inputs_of(columns: Mapping[str, Column]) -> pd.DataFrame:
    """Return columns as a frame of numbers and texts.

    Raises:
        InvalidTable: a column holds dates, or another text in most rows.
    """
    import pandas as pd

    for name, column in columns.items():
        n_different, n_rows = column.cells.nunique(), len(column.cells)
        if column.kind == "date":
            raise InvalidTable(
                f"the column {name!r} holds dates or times ({examples(column.cells.dropna())}); turn them into "
                "numbers, such as days, or remove it"
            )
        if column.kind == "category" and 2 * n_different > n_rows:
            raise InvalidTable(
                f"the column {name!r} has {n_different} different texts in {n_rows} rows "
                f"({examples(column.cells.dropna())}), like a name, an ID or a remark; remove it, or turn it into "
                "numbers or a few categories"
            )
    return pd.DataFrame({name: column.cells for name, column in columns.items()})


def check_names(frame: pd.DataFrame, target: str) -> None:
    """Raise InvalidTable if the first line of a file is a row, not names, or the first column numbers the rows.

    Names are like a row if half of them are numbers that do not count 0, 1, 2, ..., and the target is none of the
    others, or if the target's name is one of its texts.

    Args:
        frame: as `datasets.own.files.read_frame` returns it with names.
        target: name of the column that is predicted.
    """
    import pandas as pd

    names = pd.Series(frame.columns)
    numbers = pd.to_numeric(names.str.replace(",", "."), errors="coerce")
    mostly_numbers = 2 * numbers.notna().sum() >= len(names) and not (numbers.dropna().diff().iloc[1:] == 1).all()
    confirmed = target in set(names[numbers.isna()])
    if frame.index.name == "line" and (_is_a_class(frame[target], target) if confirmed else mostly_numbers):
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


def _is_a_class(texts: pd.Series, name: str) -> bool:
    """Return whether a name is one of the texts of a column that holds no numbers."""
    return bool((texts == name).any()) and read_numbers(texts) is None


def _column(cells: pd.Series, na_values: tuple[str, ...]) -> Column:
    """Return a column; how its texts are read is still open."""
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
        return Column("number", cells)
    if kind == "bytes":
        cells = cells.map(bytes.decode, na_action="ignore")
    written = (cells.map(str, na_action="ignore") if cells.dtype == object else cells).astype("str")
    texts = written.str.strip()
    texts = texts.mask(texts.isin(["", *na_values]))
    present = texts.dropna()
    if numbers := read_numbers(texts):
        return Column("number", texts, numbers=numbers)
    if len(present) and present.str.lower().isin(["true", "false"]).all():
        truth = texts.str.lower() == "true"
        return Column("number", truth if len(present) == len(texts) else truth.astype(float).where(texts.notna()))
    if len(present) and present.str.fullmatch(f"{DATE}|{TIME}").mean() >= LEAST_SHARE:
        return Column("date", texts)
    return _category(texts, written)


def _resolved(column: Column, decimals: frozenset[str], may_hold_classes: bool) -> Column:
    """Return a column with its numbers in place of its texts."""
    numbers = column.numbers
    if numbers is None:
        return column
    name, style = str(numbers.texts.name), numbers.style(decimals)
    how = numbers.in_words(style) if style else ""
    if may_hold_classes and (style is None or len(numbers.others)):
        return _category(numbers.texts, numbers.texts)
    if len(numbers.others):
        unit = f" in {numbers.unit}" if numbers.unit else ""
        raise InvalidTable(
            f"the column {name!r} holds numbers{unit} but for {examples(numbers.others)} ({in_rows(numbers.others)}); "
            "correct these cells, or name them with --na-values if they stand for missing values. To have all of them "
            "as categories, put a letter before each number"
        )
    if style is None:
        text, values = _ambiguous(numbers)
        raise InvalidTable(
            f"the column {name!r} holds {text!r} and the like, which may be {values}; give --thousands , or --decimal ,"
        )
    return replace(column, cells=numbers.readings[style], how=how)


def _without(missing: pd.Series, column: Column) -> Column:
    """Return a column whose numbers are missing where they are among those that stand for missing values."""
    is_number = column.kind == "number" and column.cells.dtype != bool
    return replace(column, cells=column.cells.mask(column.cells.isin(missing))) if is_number else column


def _ambiguous(numbers: Numbers) -> tuple[str, str]:
    """Return a text that can be read in two ways, and the two numbers."""
    import pandas as pd

    readings = pd.DataFrame({style.decimal: values for style, values in numbers.readings.items()})
    differ = (readings.max(axis=1) > readings.min(axis=1)).to_numpy()
    return str(numbers.texts[differ].iloc[0]), " or ".join(f"{value:.15g}" for value in readings[differ].iloc[0])


def _category(texts: pd.Series, written: pd.Series) -> Column:
    """Return a column of categories: texts (N,), which were `written` with spaces around some of them."""
    plain, spaced = (set(written[(written == texts) == same].dropna()) for same in (True, False))
    return Column("category", texts, spaced=tuple(sorted(text for text in spaced if text.strip() in plain)))
