"""Frames have the columns that are declared for them."""

import pandas as pd
import pyarrow as pa

from lockstep_bench.leaderboards.data.frames import CELL_ROWS, as_frame
from lockstep_bench.leaderboards.data.published import Published, read_published
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.shared.schema import TIMINGS

TYPES = {str: pa.string(), float: pa.float64()}
OPTIONAL = ("stderr", "n")  # of a published number
PUBLISHED = [pa.field(name, TYPES[kind], nullable=name in OPTIONAL) for name, kind in Published.__annotations__.items()]


def test_results_and_published_numbers_fit_their_schemas(folder):
    results = read_results(folder({"nmll": 1.0}))
    timed = CELL_ROWS.append(pa.field("total_seconds", pa.float64()))
    frames = [(results.cells, timed), (results.rows, CELL_ROWS), (results.timings, TIMINGS)]
    for frame, schema in [*frames, (read_published(), pa.schema(PUBLISHED))]:
        assert list(frame) == schema.names
        pa.Table.from_pandas(frame, schema, preserve_index=False).validate(full=True)


def test_equal_strings_of_a_frame_share_memory():
    texts = ["a long protocol", None, "a long protocol", "another"]
    table = pa.table({"text": texts, "number": [1.0, None, 3.0, 4.0]})
    with pd.option_context("mode.string_storage", "python"):
        frame = as_frame(table)
        pd.testing.assert_frame_equal(frame, table.to_pandas())
    assert frame["text"][0] is frame["text"][2]
    pd.testing.assert_frame_equal(as_frame(table), table.to_pandas())
