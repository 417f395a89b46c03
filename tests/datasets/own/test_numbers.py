"""One rule for a whole column: texts that are mostly numbers are numbers under one reading, or an error."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.format import AS_FOUND, Format
from lockstep_bench.datasets.own.reading import Column, columns_of


def read(*texts: str, layout: Format = AS_FOUND, **others: list[str]) -> Column:
    """Return a column called x as it is read beside other columns."""
    columns = {"x": list(texts)} | others
    n_rows = max(map(len, columns.values()))
    frame = pd.DataFrame({name: np.resize(texts, n_rows) for name, texts in columns.items()})
    return columns_of(frame, layout)["x"]


@pytest.mark.parametrize(
    ("texts", "numbers", "how"),
    [
        (["21.5", "-3", "1e3", "+.5", "7."], [21.5, -3, 1000, 0.5, 7], ""),
        (["21,5", "-3", "1e3", "+,5", "0,125"], [21.5, -3, 1000, 0.5, 0.125], "with decimal commas"),
        (["1.234,5", "12,25"], [1234.5, 12.25], "with decimal commas and points between thousands"),
        (["1,234.5", "12.25"], [1234.5, 12.25], "with commas between thousands"),
        (["1,234,567", "12,345,678"], [1234567, 12345678], "with commas between thousands"),
        (["12,34,567", "1,23,456"], [1234567, 123456], "with commas between thousands"),
        (["1.234.567", "12.345.678"], [1234567, 12345678], "with points between thousands"),
        (["1 234,5", "12\u202f345"], [1234.5, 12345], "with decimal commas and spaces between thousands"),
        (["1'234.5", "12’345"], [1234.5, 12345], "with apostrophes between thousands"),
        (["21.3%", "4 %", "-1%"], [21.3, 4, -1], "in %"),
        (["12 kg", "7.5kg", "1e3 kg"], [12, 7.5, 1000], "in kg"),
        (["3 m2", "4 m2"], [3, 4], "in m2"),
        (["21,5 °C", "-3 °C"], [21.5, -3], "in °C with decimal commas"),
        (["$1,200.50", "-$3", "$ 4"], [1200.5, -3, 4], "in $ with commas between thousands"),
        (["12 €", "3,5 €"], [12, 3.5], "in € with decimal commas"),
        (["−3", "4"], [-3, 4], ""),
        (["Infinity", "-inf", "1"], [np.inf, -np.inf, 1], ""),
    ],
)
def test_texts_under_one_reading_are_numbers(texts, numbers, how):
    column = read(*texts)
    assert (column.kind, column.cells.tolist(), column.how) == ("number", numbers, how)


@pytest.mark.parametrize("sign", ["-", "?", "NA", "n/a", ".", "None", "#N/A", "unknown", "--", "(missing)"])
def test_placeholders_among_numbers_are_missing(sign):
    column = read("1,5", sign, "2", "2", "3")
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
def test_other_texts_are_categories(texts):
    assert read(*texts).kind == "category"


@pytest.mark.parametrize("texts", [["2024-01-31", "2024-2-1"], ["31.12.2024 10:30", "1.2.24"], ["10:30", "9:05:01 PM"]])
def test_dates_and_times_are_dates(texts):
    assert read(*texts).kind == "date"


@pytest.mark.parametrize(
    ("texts", "others"),
    [
        (["1", "2", "3", "4", "low"], "'low'"),
        (["1", "?", "?", "?", "low", "2", "3", "4", "5", "6"], "'low'"),
        (["12 kg", "13 kg", "14 kg", "15 kg", "300 g"], "'300 g'"),
        (["21%", "22%", "23%", "24%", "0.25"], "'0.25'"),
        (["1.5", "2.5", "3.5", "4,5"], "'4,5'"),
        (["1,5", "2,5", "3.5", "4.5", "5,5"], "'3.5', '4.5'"),
        (["0", "1", "2", "3", "4+"], r"'4\+'"),
    ],
)
def test_numbers_with_other_texts_are_refused(texts, others):
    with pytest.raises(InvalidTable, match=rf"'x' holds numbers.* but for {others} \(rows? .*--na-values"):
        read(*texts)


POINTS, COMMAS, WHOLE = ["0.5", "1.25"], ["0,5", "1,25"], ["1", "2"]


def test_ambiguous_commas_follow_the_other_columns():
    texts = ["23,400", "1,250"]
    assert read(*texts, other=POINTS).cells.tolist() == [23400, 1250]
    assert read(*texts, other=COMMAS).cells.tolist() == [23.4, 1.25]
    for others in ({"other": WHOLE}, {"other": POINTS, "third": COMMAS}, {}):
        with pytest.raises(
            InvalidTable, match=r"'23,400' and the like, which may be 23.4 or 23400; give --thousands ,"
        ):
            read(*texts, **others)


def test_point_is_decimal_unless_all_others_say_otherwise():
    texts = ["23.400", "1.250"]
    assert read(*texts).cells.tolist() == [23.4, 1.25]
    assert read(*texts, other=POINTS, third=COMMAS).cells.tolist() == [23.4, 1.25]
    assert read(*texts, other=COMMAS).cells.tolist() == [23400, 1250]
    assert read("0.125", "1.250", other=COMMAS).cells.tolist() == [0.125, 1.25]


@pytest.mark.parametrize(
    ("layout", "commas", "points"),
    [
        (Format(decimal=","), 23.4, 23400),
        (Format(thousands="."), 23.4, 23400),
        (Format(decimal="."), 23400, 23.4),
        (Format(thousands=","), 23400, 23.4),
    ],
)
def test_options_decide_what_is_ambiguous(layout, commas, points):
    for others in ({"other": POINTS}, {"other": COMMAS}, {}):
        assert read("23,400", "1,250", layout=layout, **others).cells[0] == commas
        assert read("23.400", "1.250", layout=layout, **others).cells[0] == points


def test_given_texts_and_numbers_are_missing():
    layout = Format(na_values=("-999", "low"))
    np.testing.assert_array_equal(read("1", "-999.0", "low", "-999", "2", layout=layout).cells, [1, *[np.nan] * 3, 2])
    typed = columns_of(pd.DataFrame({"x": [1.5, -999.0]}), layout)["x"]
    np.testing.assert_array_equal(typed.cells, [1.5, np.nan])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("x", None), "--decimal 'x' is no separator of numbers; allowed: '.' ','"),
        ((None, ""), "--thousands '' is no separator"),
        ((",", ","), "both ','"),
    ],
)
def test_characters_that_separate_no_numbers_are_refused(options, complaint):
    with pytest.raises(InvalidTable, match=complaint):
        Format.of(*options, None, False)
