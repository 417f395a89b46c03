"""A column of texts is one of numbers, one of categories, or an error that names the texts at fault."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.format import AS_FOUND, Format
from lockstep_bench.datasets.own.reading import Column, columns_of


def read(*texts: str, layout: Format = AS_FOUND) -> Column:
    """Return a column called x as it is read."""
    return columns_of(pd.DataFrame({"x": list(texts)}), layout)["x"]


@pytest.mark.parametrize(
    ("texts", "numbers", "layout"),
    [
        (["21.5", "-3", "1e3", "+.5", "7."], [21.5, -3, 1000, 0.5, 7], AS_FOUND),
        (["21,5", "-3", "1e3", "+,5", "0,125"], [21.5, -3, 1000, 0.5, 0.125], Format(decimal=",")),
        (["1.234,5", "12,25"], [1234.5, 12.25], Format(decimal=",", thousands=".")),
        (["1.234.567", "12,25"], [1234567, 12.25], Format(thousands=".")),
        (["1,234.5", "12.25"], [1234.5, 12.25], Format(thousands=",")),
        (["1,234,567", "12,345,678"], [1234567, 12345678], Format(thousands=",")),
        (["1 234,5", "12\u202f345"], [1234.5, 12345], Format(decimal=",", thousands=" ")),
        (["1'234.5", "12’345"], [1234.5, 12345], Format(thousands="'")),
        (["−3", "4"], [-3, 4], AS_FOUND),
        (["Infinity", "-inf", "1"], [np.inf, -np.inf, 1], AS_FOUND),
    ],
)
def test_numbers_are_read_in_the_given_notation(texts, numbers, layout):
    column = read(*texts, layout=layout)
    assert (column.kind, column.cells.tolist()) == ("number", numbers)


@pytest.mark.parametrize(
    "texts",
    [
        *(["21,5", "3,25"], ["23,400", "1,250"], ["1.234,5", "12,25"], ["12,34,567", "1,23,456"]),
        *(["21.3%", "4 %"], ["12 kg", "7.5kg"], ["3 m2", "4 m2"], ["21,5 °C", "-3 °C"], ["$1,200.50", "-$3"]),
    ],
)
def test_numbers_in_a_different_notation_are_refused(texts):
    with pytest.raises(InvalidTable, match=r"'x' holds .*, like numbers in another notation; name .* --decimal"):
        read(*texts)


@pytest.mark.parametrize("sign", ["-", "?", "NA", "n/a", ".", "None", "#N/A", "unknown", "--", "(missing)"])
def test_placeholders_among_numbers_count_as_missing(sign):
    column = read("1.5", sign, "2", "2", "3")
    np.testing.assert_array_equal(column.cells, [1.5, np.nan, 2, 2, 3])
    assert column.placeholders.tolist() == [sign]


@pytest.mark.parametrize(
    "texts",
    [
        ["A", "B", "3"],
        ["pat1", "pat2", "pat3"],
        ["1st", "2nd", "3rd", "crew"],
        ["10-20", "20-30", "30+"],
        ["+", "-", "-", "-", "-"],  # nothing is a number
        ["NA", "NA", "NA", "1", "low"],
        ["1.2.3", "1.10.4", "2.0.1"],
        ["192.168.1.10", "10.0.0.1"],
        ["1/2", "3/4", "1/4"],
        ["1,2,3", "4,5", "6,7,8"],
    ],
)
def test_other_text_columns_are_categorical(texts):
    assert read(*texts).kind == "category"


@pytest.mark.parametrize("texts", [["2024-01-31", "2024-2-1"], ["31.12.2024 10:30", "1.2.24"], ["10:30", "9:05:01 PM"]])
def test_dates_and_times_are_recognised(texts):
    assert read(*texts).kind == "date"


@pytest.mark.parametrize(
    ("texts", "others"),
    [
        (["1", "2", "3", "4", "low"], "'low'"),
        (["1", "?", "?", "?", "low", "2", "3", "4", "5", "6"], "'low'"),
        (["1.5", "2.5", "3.5", "5.5", "4,5"], "'4,5'"),
        (["0", "1", "2", "3", "4+"], r"'4\+'"),
    ],
)
def test_numeric_columns_containing_other_text_are_refused(texts, others):
    with pytest.raises(InvalidTable, match=rf"'x' holds numbers.* but for {others} \(rows? .*--na-values"):
        read(*texts)


def test_given_missing_value_markers_are_recognised():
    layout = Format(na_values=("-999", "low"))
    np.testing.assert_array_equal(read("1", "-999.0", "low", "-999", "2", layout=layout).cells, [1, *[np.nan] * 3, 2])
    typed = columns_of(pd.DataFrame({"x": [1.5, -999.0]}), layout)["x"]
    np.testing.assert_array_equal(typed.cells, [1.5, np.nan])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("x", None), "--decimal 'x' is not a separator of numbers; allowed: '.' ','"),
        ((None, ""), "--thousands '' is not a separator"),
        ((",", ","), "both ','"),
    ],
)
def test_invalid_decimal_and_thousands_separators_are_refused(options, complaint):
    with pytest.raises(InvalidTable, match=complaint):
        Format.of(*options, None, False)
