"""Conversion of a table's columns to arrays: features x and target y, with notes and warnings about them.

Numbers stay as they are. A text column becomes one 0/1 column for each of its values; if it has two values, it becomes
a single 0/1 column.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.numbers import PLACEHOLDERS
from lockstep_bench.datasets.own.reading import Column
from lockstep_bench.datasets.own.wording import examples, first, in_rows

if TYPE_CHECKING:
    import pandas as pd

TASKS = ("regression", "classification")
MISSING = "(missing)"  # category of rows whose text is missing
MANY_CATEGORIES = 50
MOST_OFFSET = 1e5  # of a target's mean over its standard deviation; single precision has a spacing of 6e-8 of the mean
LEAST_SD = 1e-12  # of a target; precisions and squares are then far inside the range of single precision
FEW_VALUES = 20  # different whole numbers in a target that may be classes
FEW_IN_CLASS = 10  # rows


class Features(NamedTuple):
    """Features of a table as numbers.

    Attributes:
        x: float64 (N, P); NaN where a number is missing.
        notes: sentences about the features for readers of results.
        warnings: sentences about the features for the person who starts a run.
        dummies: for each text column, the indices of the 0/1 columns of x that encode it.
    """

    x: np.ndarray
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    dummies: tuple[tuple[int, ...], ...]


class TargetColumn(NamedTuple):
    """Target of a table as numbers.

    Attributes:
        y: float64 (N,), numbers or class numbers.
        classes: the value of each class in the table; () for a regression.
        notes: sentences about the target for readers of results.
        warnings: sentences about the target for the person who starts a run.
    """

    y: np.ndarray
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def features_of(frame: pd.DataFrame, impute: str, placeholders: Mapping[str, str] = MappingProxyType({})) -> Features:
    """Return the features of a table as numbers.

    Args:
        frame: the table without its target, N rows of numbers and strings (`datasets.own.reading.inputs_of`).
        impute: "median" to allow missing values, "" to refuse them.
        placeholders: strings that stand for missing numbers, by column, to be named in the error message.

    Raises:
        InvalidTable: a column cannot be an input, for example because a value is missing and `impute` is "".
    """
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    if not len(frame.columns):
        raise InvalidTable("the table has no column besides the target; a model needs at least one input")
    missing = {str(name): int(count) for name, count in frame.isna().sum().items() if count}
    _check_missing(missing, len(frame), impute, placeholders)
    numbers = [name for name in frame if is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name])]
    texts = [name for name in frame if name not in numbers]
    convert = {**dict.fromkeys(numbers, _numbers), **dict.fromkeys(texts, _categories)}
    frame = pd.DataFrame({name: convert[name](frame[name]) for name in frame})
    encoder = OneHotEncoder(drop="if_binary", sparse_output=False)
    x = ColumnTransformer([("numbers", "passthrough", numbers), ("texts", encoder, texts)]).fit_transform(frame)
    counts = [frame[name].nunique() for name in texts]
    ends = np.cumsum([len(numbers), *(1 if count == 2 else count for count in counts)])
    dummies = tuple(tuple(range(first, end)) for first, end in pairwise(ends.tolist()))
    notes, warnings = [], _constant(frame)
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


def target_of(column: Column, task: str | None) -> TargetColumn:
    """Return the target of a table as numbers.

    Args:
        column: the target column, N cells.
        task: one of `TASKS`. None for classification if the column holds strings or only two values, else regression.

    Raises:
        InvalidTable: the column cannot be the target of the task.
    """
    from pandas.api.types import is_bool_dtype

    cells = column.cells
    name, n_rows = str(cells.name), len(cells)
    if len(stand_ins := column.placeholders):
        raise InvalidTable(
            f"the target {name!r} holds numbers, and {examples(stand_ins)} in {len(stand_ins)} of {n_rows} rows "
            f"({in_rows(stand_ins)}); remove these rows, or give their numbers"
        )
    if len(missing := cells[cells.isna()]):
        raise InvalidTable(
            f"the target {name!r} is missing in {len(missing)} of {n_rows} rows ({in_rows(missing)}); remove these rows"
        )
    if len(cells.unique()) == 1:
        spaces = f" ({', '.join(map(repr, column.spaced))} too, as spaces do not count)" if column.spaced else ""
        raise InvalidTable(f"the target {name!r} is {examples(cells)} in every row{spaces}; there is nothing to learn")
    if column.kind == "date" and task != "classification":
        raise InvalidTable(
            f"the target {name!r} holds dates or times ({examples(cells)}); turn them into numbers, such as days, or "
            "give --task classification if they are classes"
        )
    numeric = column.kind == "number" and not is_bool_dtype(cells)
    if task is None:
        task = "regression" if numeric and cells.nunique() > 2 else "classification"
    if task == "classification":
        return _classes(cells)
    if not numeric:
        raise InvalidTable(
            f"the target {name!r} of a regression must be numbers; it holds {examples(cells)}. Correct these values, "
            "or give --task classification"
        )
    y = _numbers(cells).to_numpy()
    _check_scale(name, y)
    few = cells.nunique() <= FEW_VALUES and bool((y == y.round()).all())
    doubt = (
        f"the target {name!r} has {cells.nunique()} different whole numbers and is taken as numbers, not classes; "
        "--task classification takes them as classes"
    )
    note = f"The mean of {name} is {y.mean():.3g}, its standard deviation {y.std():.3g}; scores are in its unit."
    return TargetColumn(y, (), (note,), (doubt,) if few else ())


def check_target(names: Sequence[str], target: str) -> None:
    """Raise InvalidTable, with the nearest column name, if no column of a table has the target's name."""
    if target not in names:
        near = difflib.get_close_matches(target, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InvalidTable(f"there is no column {target!r}; {hint}The columns are {_named(names)}")


def _classes(column: pd.Series) -> TargetColumn:
    """Return the target of a classification; classes are numbered in the order of their values."""
    name = str(column.name)
    values, y, counts = np.unique(column.to_numpy(), return_inverse=True, return_counts=True)
    if len(values) > max(2, len(column) // 2):
        raise InvalidTable(
            f"the target {name!r} has {len(values)} classes in {len(column)} rows; most would have one row. "
            "Choose another column, or give --task regression if it holds numbers"
        )
    # pandas reads whole numbers as floats; a class 3 is not to be called 3.0.
    whole = values.dtype.kind == "f" and bool((values == values.round()).all())
    classes = tuple(f"{value:.0f}" if whole else str(value) for value in values)
    sizes = dict(zip(classes, map(int, counts), strict=True))
    numbered = {f"{number} is {value}": size for number, (value, size) in enumerate(sizes.items())}
    rare = {value: size for value, size in sizes.items() if size < FEW_IN_CLASS}
    warnings = [f"few rows of some classes of {name!r}: {_listed(rare)}; a split may lack them"] if rare else []
    if doubtful := {value: size for value, size in sizes.items() if value.lower() in PLACEHOLDERS}:
        warnings.append(f"taken as classes of {name!r}: {_listed(doubtful)}. If these rows lack a class, remove them")
    return TargetColumn(
        y.astype(np.float64), classes, (f"Classes, with their rows: {_listed(numbered)}.",), tuple(warnings)
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


def _check_missing(missing: dict[str, int], n_rows: int, impute: str, placeholders: Mapping[str, str]) -> None:
    if missing and not impute:
        where = [
            f"{name} ({count}" + (f": {placeholders[name]})" if name in placeholders else ")")
            for name, count in missing.items()
        ]
        raise InvalidTable(
            f"values are missing in some of the {n_rows} rows, in the columns {first(where)}; fill or remove them, or "
            "give --impute median"
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
    texts: pd.Series = column.astype(object).where(column.notna(), MISSING).astype(str)
    return texts


def _constant(frame: pd.DataFrame) -> list[str]:
    names = [str(name) for name in frame if len(frame[name].unique()) == 1]
    return [f"constant, so that they say nothing: {_named(names)}"] if names else []


def _named(names: Sequence[str]) -> str:
    return first(list(map(repr, names)))


def _listed(counts: dict[str, int]) -> str:
    """Return names with their counts: "a (3), b (12)"."""
    return first([f"{name} ({count})" for name, count in counts.items()])
