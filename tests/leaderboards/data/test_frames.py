"""Frames have the columns that are declared for them."""

import pandas as pd
import pyarrow as pa
import pytest

from lockstep_bench.leaderboards.data.frames import CELL_ROWS, PUBLISHED, TIMED_ROWS, TIMING_ROWS, as_frame, checked
from lockstep_bench.leaderboards.data.published import read_published
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.shared.schema import CELLS


def test_results_and_published_numbers_fit_their_schemas(folder):
    results = read_results(folder({"nmll": 1.0}))
    for frame, schema in ((results.cells, TIMED_ROWS), (results.rows, CELL_ROWS), (results.timings, TIMING_ROWS)):
        assert checked(frame, schema) is frame
    published = read_published()
    assert checked(published, PUBLISHED) is published


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda frame: frame.drop(columns="nmll"), r"missing: \['nmll'\]"),
        (lambda frame: frame.assign(colour="blue"), r"unknown: \['colour'\]"),
        (lambda frame: frame.assign(nmll="low"), "nmll"),
        (lambda frame: frame.assign(dataset=None), "dataset"),
    ],
)
def test_frames_of_other_columns_are_refused(cells, change, why):
    with pytest.raises(ValueError, match=why):
        checked(change(cells({"nmll": 1.0})), CELLS)


def test_equal_texts_of_a_frame_are_one_object():
    texts = ["a long protocol", None, "a long protocol", "another"]
    table = pa.table({"text": texts, "number": [1.0, None, 3.0, 4.0]})
    with pd.option_context("mode.string_storage", "python"):
        frame = as_frame(table)
        pd.testing.assert_frame_equal(frame, table.to_pandas())
    assert frame["text"][0] is frame["text"][2]
    pd.testing.assert_frame_equal(as_frame(table), table.to_pandas())
