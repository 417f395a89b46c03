"""Numbers that stand for missing values are noticed, and large measured numbers are not."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.own.sentinels import doubts_about_sentinels

MEASURED = np.random.default_rng(0).uniform(0, 100, 200).round(1)


def doubts(numbers, **replaced: int) -> list[str]:
    """Return the warnings about numbers whose first few are replaced: `doubts(numbers, number=..., rows=...)`."""
    numbers = np.array(numbers, dtype=float)
    numbers[: replaced["rows"]] = replaced["number"]
    return doubts_about_sentinels("depth", pd.Series(numbers))


def test_warning_names_numbers_rows_and_option():
    numbers = pd.Series([1.5, 2.5, np.nan, 4.5] * 5 + [-999] * 2 + [-9999] * 3)
    assert doubts_about_sentinels("depth", numbers) == [
        "column 'depth' has -999 in 2 and -9999 in 3 of 25 rows, and 1.5 to 4.5 in others; give "
        "--na-values -999,-9999 if these values are missing"
    ]


@pytest.mark.parametrize(
    ("numbers", "number"),
    [(MEASURED, -999), (MEASURED, 999), (MEASURED - 50, -9999), (MEASURED, 99999), (30 * MEASURED, -999)],
)
def test_repeated_numbers_far_outside_give_a_warning(numbers, number):
    assert doubts(numbers, number=number, rows=3)


@pytest.mark.parametrize(
    ("numbers", "number", "rows"),
    [
        (MEASURED, -999, 2),  # one per cent
        (MEASURED, -998, 20),
        (MEASURED + 950, 999, 20),
        (MEASURED * 8, 999, 20),
        (MEASURED * 30 - 1500, -999, 20),
        (np.ones(200), 999, 100),
        (MEASURED, 999, 200),
    ],
)
def test_other_numbers_give_no_warning(numbers, number, rows):
    assert doubts(numbers, number=number, rows=rows) == []
