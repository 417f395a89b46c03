"""Numbers that lose leading or trailing digits, as codes do, are noticed."""

import pandas as pd
import pytest

from lockstep_bench.datasets.own.digits import doubts_about_digits
from lockstep_bench.datasets.own.format import AS_FOUND
from lockstep_bench.datasets.own.reading import columns_of


def doubts(*values) -> list[str]:
    return doubts_about_digits("plz", columns_of(pd.DataFrame({"plz": list(values)}), AS_FOUND)["plz"])


def test_zero_padded_numbers_give_a_warning():
    (doubt,) = doubts("00123", "04109", "80331")
    assert doubt == (
        "numbers of column 'plz' begin with zeros ('00123', '04109'), which are lost; if they are codes, put a letter "
        "before each to have categories"
    )


@pytest.mark.parametrize("values", [("1234567890123456", "2"), (1234567890123456, 2), ("-00012345678901234567", "1.5")])
def test_long_whole_numbers_give_a_warning(values):
    assert "whole numbers of column 'plz' have more than 15 digits ('" in doubts(*values)[-1]


@pytest.mark.parametrize(
    "values",
    [
        ("0", "-0.5", "0.25", "10"),
        ("123456789012345", "0.1234567890123456", "1e20"),
        (10**14, 1),
        (1e20, 0.5),
        (True, False),
        ("00123", "a", "b"),
    ],
)
def test_other_columns_give_no_warning_about_digits(values):
    assert doubts(*values) == []
