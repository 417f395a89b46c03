"""CSV that spreadsheets show as it is."""

import io

import pandas as pd
import pytest

from lockstep_bench.leaderboards.tables.spreadsheet import as_csv


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_csv_cells_like_formulas_become_text(first):
    frame = pd.DataFrame({"method": [f"{first}cmd|' /C calc'!A0", "map"], "mean": [-1.5, 2.0]})
    read = pd.read_csv(io.StringIO(as_csv(frame)))
    assert read["method"].tolist()[1] == "map"
    assert read["method"].tolist()[0][0] in "'\\"
    assert read["mean"].tolist() == [-1.5, 2.0]


def test_missing_values_are_empty_csv_cells():
    frame = pd.DataFrame({"remark": ["a", None], "n": [1, 2]})
    assert as_csv(frame) == "remark,n\na,1\n,2\n"
