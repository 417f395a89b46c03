"""Dates, months and times are recognised in their common notations, and other texts and numbers are not."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.own.format import AS_FOUND
from lockstep_bench.datasets.own.reading import columns_of


def kind(values) -> str:
    return columns_of(pd.DataFrame({"x": values}), AS_FOUND)["x"].kind


@pytest.mark.parametrize(
    "texts",
    [
        *(["2020-01", "2020-12"], ["2021/03", "2021/3"], ["03/2021", "12/2021"], ["01.2021", "12.2021"]),
        *(["Jan 2021", "Feb 2021"], ["January 2021", "may 2022"], ["Jan-21", "Sept-21"], ["2021 Mar", "2021-Apr"]),
        *(["5 Jan 2021", "31 December 2021"], ["05-Jan-21", "06-Jan-21"], ["Jan 5, 2021", "Feb. 1, 2021"]),
        *(["20210101", "20211231"], ["20210101", "-", "20210131", "20200229", "20200301"]),
    ],
)
def test_months_and_compact_dates_are_recognised(texts):
    assert kind(texts) == "date"


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64"])
def test_compact_dates_of_parquet_files_are_recognised(dtype):
    assert kind(pd.Series([20210101, 20211231], dtype=dtype)) == "date"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["20210101", "20211301"], "number"),
        (["20210101.5", "20210102"], "number"),
        (["18991231", "20210101"], "number"),
        (["1.2021", "13.2021"], "number"),
        (["2020", "2021"], "number"),
        (["2020-21", "2021-22"], "category"),
        (["10-20", "20-30"], "category"),
        (["Mark 2", "Mark 4"], "category"),
        (["Marble 2020", "Decor 2021"], "category"),
        (["may", "june"], "category"),
        (np.array([20210101, 20210101j]), "number"),
    ],
)
def test_similar_numbers_and_texts_are_no_dates(values, expected):
    assert kind(values) == expected
