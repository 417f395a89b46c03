"""Columns become numbers by their types, and those that cannot are refused by name."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.columns import check_target, features_of, target_of
from lockstep_bench.datasets.own.format import AS_FOUND
from lockstep_bench.datasets.own.reading import Column, columns_of, inputs_of


def series(*values) -> Column:
    return read(pd.Series(values))


def read(column: pd.Series) -> Column:
    """Return a column called y as it is read."""
    return columns_of(pd.DataFrame({"y": column}), AS_FOUND)["y"]


def inputs(frame: pd.DataFrame) -> pd.DataFrame:
    return inputs_of(columns_of(frame, AS_FOUND))


def test_numeric_columns_stay_and_text_becomes_one_hot(frame):
    x, notes, warnings, dummies = features_of(frame[["city", "area", "heated"]], "")
    indicators = [frame["city"] == "Bern", frame["city"] == "Oslo", frame["city"] == "Rome", frame["heated"] == "yes"]
    np.testing.assert_array_equal(x, np.column_stack([frame["area"], *indicators]).astype(float))
    assert "city (3), heated (2)" in notes[0]
    assert (warnings, dummies) == ((), ((1, 2, 3), (4,)))


def test_boolean_columns_become_zeros_and_ones():
    x = features_of(pd.DataFrame({"a": [True, False], "b": [1, 2]}), "").x
    assert x.tolist() == [[1, 1], [0, 2]]


def test_error_on_missing_values_names_the_column(frame):
    frame.loc[[0, 1], "area"], frame.loc[3, "city"] = np.nan, None
    with pytest.raises(InvalidTable, match=r"40 rows.*area \(2\), city \(1\).*--impute median"):
        features_of(frame[["area", "city", "heated"]], "")


def test_with_imputation_missing_text_is_a_category(frame):
    frame.loc[[0, 1], "area"], frame.loc[3, "city"] = np.nan, None
    x, notes, *_ = features_of(frame[["area", "city"]], "median")
    assert np.isnan(x).sum(axis=0).tolist() == [2, 0, 0, 0, 0]
    assert x[3].tolist() == [frame["area"][3], 1, 0, 0, 0]  # "(missing)" comes first
    assert "area (2), city (1)" in notes[-1]


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ([f"row {number}" for number in range(40)], "40 different texts in 40 rows.*like a name, an ID or a remark"),
        ([*map(str, range(39)), "x"], r"holds numbers but for 'x' \(row 39\).*--na-values"),
        (pd.date_range("2020-01-01", periods=40), "dates or times"),
        ([np.inf, *range(39)], "infinite in 1 rows"),
    ],
)
def test_columns_of_unusable_types_are_refused(frame, column, complaint):
    with pytest.raises(InvalidTable, match=f"'bad'.*{complaint}"):
        features_of(inputs(frame[["area"]].assign(bad=column)), "")


def test_empty_column_is_refused_even_with_imputation(frame):
    with pytest.raises(InvalidTable, match="'bad' is empty"):
        features_of(frame[["area"]].assign(bad=np.nan), "median")


def test_table_without_input_columns_is_refused(frame):
    with pytest.raises(InvalidTable, match="no column besides the target"):
        features_of(frame[[]], "")


def test_constant_inputs_give_a_warning(frame):
    (warning,) = features_of(frame[["area"]].assign(constant="same", grid=[1, 2] * 20), "").warnings
    assert warning == "constant, so that they say nothing: 'constant'"


@pytest.mark.parametrize(
    ("column", "classes", "y"),
    [
        (series("no", "yes", "no"), ("no", "yes"), [0, 1, 0]),
        (series(7, 3, 3), ("3", "7"), [1, 0, 0]),
        (series(True, False), ("False", "True"), [1, 0]),
        (series(0.5, 1.5, 2.5), (), [0.5, 1.5, 2.5]),
    ],
)
def test_task_is_inferred_from_the_target_column(column, classes, y):
    target = target_of(column, None)
    assert (target.classes, target.y.tolist()) == (classes, y)


def test_given_task_overrides_the_inferred_one():
    assert target_of(series(1, 2, 3, 1, 2, 3), "classification").classes == ("1", "2", "3")
    assert target_of(series(1.0, 2.0, 10.0, 1.0, 2.0, 10.0), "classification").classes == ("1", "2", "10")
    assert target_of(series(0.5, 2.0, 0.5, 2.0), "classification").classes == ("0.5", "2.0")
    assert target_of(series(0, 1, 1), "regression").classes == ()


def test_integer_targets_give_a_warning_about_classes():
    assert "--task classification" in target_of(series(1, 2, 3), None).warnings[0]
    assert target_of(series(1.5, 2, 3), None).warnings == ()


@pytest.mark.parametrize(
    ("column", "task", "complaint"),
    [
        (series(1.0, None, 2.0), None, "missing in 1 of 3 rows"),
        (series(4, 4, 4), None, "is '4' in every row"),
        (series("a", "a"), "classification", "is 'a' in every row"),
        (series("1", "y", "x"), "regression", "must be numbers; it holds '1', 'y', 'x'"),
        (series(*"abcdef"), None, "6 classes in 6 rows"),
        (
            series("2020-01-31", "2020-02-01"),
            None,
            "dates .*turn them into numbers, such as days, or give --task class",
        ),
        (series("1.2.2020 10:00", "02.12.2020 11:30"), "regression", "dates"),
        (read(pd.Series(pd.date_range("2020-01-31", periods=3))), None, "dates"),
        (series(1.0, np.inf, 2.0), None, "infinite in 1 rows"),
        (series(1e9, 1e9 + 2, 1e9 + 5.5), None, "mean 1e.09 and standard deviation 2.27"),
        (series(0, 1e-13, 3e-13), None, "in another unit"),
    ],
)
def test_unpredictable_targets_are_refused(column, task, complaint):
    with pytest.raises(InvalidTable, match=f"'y'.*{complaint}"):
        target_of(column, task)


@pytest.mark.parametrize("values", [("1,5", "a"), ("1.2.3", "1.2.4"), ("low, slow", "low, fast"), ("1st", "2nd")])
def test_text_targets_are_sorted_into_classes(values):
    assert target_of(series(*values), None).classes == tuple(sorted(values))


def test_unknown_target_name_suggests_the_nearest_column(frame):
    with pytest.raises(InvalidTable, match="no column 'Price'; did you mean 'price'"):
        check_target(list(frame), "Price")
