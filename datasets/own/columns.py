"""Columns of a table as numbers: features x, target y, and what is remarkable about them.

Numbers stay as they are. A column of texts becomes one column of zeros and ones for each of its values, or one in all
if it has two.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from datasets.errors import InvalidTable

if TYPE_CHECKING:
    import pandas as pd

TASKS = ("regression", "classification")
MISSING = "(missing)"  # category of rows whose text is missing
MOST_NUMBERS = 0.9  # share of values that are numbers from which a column of texts was probably meant as numbers
MANY_CATEGORIES = 50
MOST_OFFSET = 1e5  # of a target's mean over its standard deviation; single precision has a spacing of 6e-8 of the mean
LEAST_SD = 1e-12  # of a target; precisions and squares are then far inside the range of single precision
FEW_VALUES = 20  # different whole numbers in a target that may be classes; different texts that any column may have
FEW_IN_CLASS = 10  # rows
NUMBER = r"[+-]?[\d.]*,?\d+([eE][+-]?\d+)?"  # with a decimal comma, or with none
DATE = r"(\d{4}([-./])\d{1,2}\2\d{1,2}|\d{1,2}([-./])\d{1,2}\3(\d{4}|\d{2}))([ T].*)?"
SHOWN = 10  # values or columns that a sentence names


class Features(NamedTuple):
    """Features of a table.

    Attributes:
        x: float64 (N, P); NaN where a number is missing.
        notes: sentences for readers of results.
        warnings: sentences for the person who runs them.
        dummies: for each column of texts its columns of x, of zeros and ones.
    """

    x: np.ndarray
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    dummies: tuple[tuple[int, ...], ...]


class Target(NamedTuple):
    """Target of a table.

    Attributes:
        y: float64 (N,), numbers or class numbers.
        classes: the value of each class; () for a regression.
        notes: sentences for readers of results.
        warnings: sentences for the person who runs them.
    """

    y: np.ndarray
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def features_of(frame: pd.DataFrame, impute: str) -> Features:
    """Return the features of a table.

    Args:
        frame: the table without its target, N rows.
        impute: "median" to allow missing values, "" to refuse them.

    Raises:
        InvalidTable: a column cannot be an input.
    """
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    if not len(frame.columns):
        raise InvalidTable("the table has no column besides the target; a model needs at least one input")
    missing = {str(name): int(count) for name, count in frame.isna().sum().items() if count}
    _check_missing(missing, len(frame), impute)
    numbers = [name for name in frame if is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name])]
    texts = [name for name in frame if name not in numbers]
    convert = {**dict.fromkeys(numbers, _numbers), **dict.fromkeys(texts, _categories)}
    frame = pd.DataFrame({name: convert[name](frame[name]) for name in frame})
    encoder = OneHotEncoder(drop="if_binary", sparse_output=False)
    x = ColumnTransformer([("numbers", "passthrough", numbers), ("texts", encoder, texts)]).fit_transform(frame)
    counts = [frame[name].nunique() for name in texts]
    ends = np.cumsum([len(numbers), *(1 if count == 2 else count for count in counts)])
    dummies = tuple(tuple(range(first, end)) for first, end in pairwise(ends.tolist()))
    notes, warnings = [], [*_row_numbers(frame[numbers]), *_constant(frame)]
    if texts:
        named = dict(zip(map(str, texts), counts, strict=True))
        notes.append(f"Texts became columns of zeros and ones; values of each: {_listed(named)}.")
        warnings += [
            f"column {name!r} has {count} different texts, each a column of its own; join rare ones, or drop it"
            for name, count in named.items()
            if count > MANY_CATEGORIES
        ]
    if missing:
        notes.append(
            f"Missing values: {_listed(missing)}. Each fit fills missing numbers with the medians of its own training "
            "rows; missing texts are a category."
        )
    return Features(np.asarray(x, dtype=np.float64), tuple(notes), tuple(warnings), dummies)


def target_of(column: pd.Series, task: str | None) -> Target:
    """Return the target of a table.

    Args:
        column: the target, N values.
        task: one of `TASKS`; None for a classification where there are texts, or two values, and else a regression.

    Raises:
        InvalidTable: the column cannot be the target of the task.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    name = str(column.name)
    if count := int(column.isna().sum()):
        raise InvalidTable(f"the target {name!r} is missing in {count} of {len(column)} rows; remove these rows")
    numeric = is_numeric_dtype(column) and not is_bool_dtype(column)
    if len(column.unique()) == 1:
        raise InvalidTable(f"the target {name!r} is {_examples(column)} in every row; there is nothing to learn")
    if not numeric and task != "classification":
        _check_texts(name, column.astype(str).str.strip())
    if task is None:
        task = "regression" if numeric and column.nunique() > 2 else "classification"
    if task == "classification":
        return _classes(column)
    if not numeric:
        raise InvalidTable(
            f"the target {name!r} of a regression must be numbers; it holds {_examples(column)}. Correct these values, "
            "or give --task classification"
        )
    y = _numbers(column).to_numpy()
    _check_scale(name, y)
    few = column.nunique() <= FEW_VALUES and bool((y == y.round()).all())
    doubt = (
        f"the target {name!r} has {column.nunique()} different whole numbers and is taken as numbers, not classes; "
        "--task classification takes them as classes"
    )
    note = f"The mean of {name} is {y.mean():.3g}, its standard deviation {y.std():.3g}; scores are in its unit."
    return Target(y, (), (note,), (doubt,) if few else ())


def chosen(frame: pd.DataFrame, target: str) -> pd.Series:
    """Return the column of a table that is its target; raise InvalidTable, with the nearest name, if there is none."""
    if target in frame.columns:
        column: pd.Series = frame[target]
        return column
    near = difflib.get_close_matches(target, list(frame.columns), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InvalidTable(f"there is no column {target!r}; {hint}The columns are {_named(list(frame.columns))}")


def _classes(column: pd.Series) -> Target:
    """Return the target of a classification; classes are numbered in the order of their values."""
    name = str(column.name)
    values, y, counts = np.unique(column.to_numpy(), return_inverse=True, return_counts=True)
    if len(values) > max(2, len(column) // 2):
        raise InvalidTable(
            f"the target {name!r} has {len(values)} classes in {len(column)} rows; most would have one row. "
            "Choose another column, or give --task regression if it holds numbers"
        )
    classes = tuple(map(str, values))
    sizes = dict(zip(classes, map(int, counts), strict=True))
    numbered = {f"{number} is {value}": size for number, (value, size) in enumerate(sizes.items())}
    rare = {value: size for value, size in sizes.items() if size < FEW_IN_CLASS}
    warnings = (f"few rows of some classes of {name!r}: {_listed(rare)}; a split may lack them",) if rare else ()
    return Target(y.astype(np.float64), classes, (f"Classes, with their rows: {_listed(numbered)}.",), warnings)


def _check_texts(name: str, texts: pd.Series) -> None:
    """Raise InvalidTable for a target whose texts were probably meant as numbers."""
    if texts.str.fullmatch(NUMBER).all() and texts.str.contains(",").any():
        kind, remedy = "numbers with decimal commas", "write decimal points"
    elif texts.str.fullmatch(DATE).all():
        kind, remedy = "dates", "turn them into numbers, such as days"
    else:
        return
    raise InvalidTable(
        f"the target {name!r} holds {kind} ({_examples(texts)}); {remedy}, or give --task classification if they are "
        "classes"
    )


def _check_scale(name: str, y: np.ndarray) -> None:
    """Raise InvalidTable for a target whose values single precision, in which models predict, cannot keep apart."""
    mean, sd = abs(float(y.mean())), float(y.std())
    if mean > MOST_OFFSET * sd:
        raise InvalidTable(
            f"the target {name!r} has mean {mean:.3g} and standard deviation {sd:.3g}; predictions have seven digits, "
            "too few to tell such values apart. Subtract a constant from it"
        )
    if not LEAST_SD < sd < 1 / LEAST_SD:
        raise InvalidTable(f"the target {name!r} has standard deviation {sd:.3g}; give it in another unit")


def _check_missing(missing: dict[str, int], n_rows: int, impute: str) -> None:
    if missing and not impute:
        raise InvalidTable(
            f"values are missing in some of the {n_rows} rows, in the columns {_listed(missing)}; fill or remove them, "
            "or give --impute median"
        )
    if empty := [name for name, count in missing.items() if count == n_rows]:
        raise InvalidTable(f"the column {empty[0]!r} is empty; remove it")


def _numbers(column: pd.Series) -> pd.Series:
    if column.dtype.kind == "c":
        raise InvalidTable(f"the column {str(column.name)!r} holds complex numbers; give real ones")
    numbers: pd.Series = column.astype("float64")
    if count := int(np.isinf(numbers).sum()):
        raise InvalidTable(f"the column {str(column.name)!r} is infinite in {count} rows; correct or remove them")
    return numbers


def _categories(column: pd.Series) -> pd.Series:
    """Return a column of texts; raise InvalidTable for dates, for numbers with some texts, and for an ID."""
    import pandas as pd

    name, n_rows = str(column.name), len(column)
    if column.dtype.kind in "mM":
        raise InvalidTable(f"the column {name!r} holds dates or times; turn them into numbers, or remove it")
    present = column.dropna().astype(str)
    numbers = pd.to_numeric(present, errors="coerce")
    if MOST_NUMBERS <= numbers.notna().mean() < 1:
        raise InvalidTable(
            f"the column {name!r} holds numbers but for {_examples(present[numbers.isna()])}; correct these values, or "
            "leave them empty if they are missing"
        )
    if present.nunique() > max(FEW_VALUES, n_rows // 2):
        raise InvalidTable(
            f"the column {name!r} has {present.nunique()} different texts in {n_rows} rows ({_examples(present)}), "
            "like a name, an ID, a date, or numbers with a decimal comma; remove it, or turn it into numbers"
        )
    texts: pd.Series = column.astype(object).where(column.notna(), MISSING).astype(str)
    return texts


def _row_numbers(numbers: pd.DataFrame) -> list[str]:
    """Return a warning for each column that counts the rows, or is called an ID and has another number in each."""
    warnings = []
    for name in map(str, numbers):
        if (numbers[name].diff().iloc[1:] == 1).all():
            warnings.append(f"column {name!r} counts the rows; remove it unless it is an input")
        elif name.lower().endswith("id") and numbers[name].is_unique:
            warnings.append(f"column {name!r} has another number in each row; remove it if it is an ID")
    return warnings


def _constant(frame: pd.DataFrame) -> list[str]:
    names = [str(name) for name in frame if len(frame[name].unique()) == 1]
    return [f"constant, so that they say nothing: {_named(names)}"] if names else []


def _examples(values: pd.Series) -> str:
    shown = values.astype(str).unique()[:3]
    return ", ".join(map(repr, shown)) + (", ..." if values.nunique() > len(shown) else "")


def _named(names: Sequence[str]) -> str:
    return _first(list(map(repr, names)))


def _listed(counts: dict[str, int]) -> str:
    """Return names with their counts: "a (3), b (12)"."""
    return _first([f"{name} ({count})" for name, count in counts.items()])


def _first(texts: list[str]) -> str:
    """Return the first texts, and how many there are besides: "a, b and 3 more"."""
    return ", ".join(texts[:SHOWN]) + (f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else "")
