"""Checks of the texts in result files."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench.shared.rows.checking import DECODE, FLAT_OBJECT


def is_flat(text):
    return pc.match_substring_regex(pa.array([text]), FLAT_OBJECT)[0].as_py()


@pytest.mark.parametrize("text", ["{}", '{"lr": 0.1, "n": -3, "x": 1e-05}', '{"a":"b, c","ä":null , "d": true}'])
def test_flat_objects_need_no_decoder(text):
    assert is_flat(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[1]", "3", "{} {}", '{"a": 1}\n{', '{"a": 1,}', '{"a": 1 "b": 2}', '{"a"}', '{"a": 1}x', 'x{"a": 1}'),
        *(
            '{"a": 01}',
            '{"a": 1.}',
            '{"a": .5}',
            '{"a": +1}',
            '{"a": "b\nc"}',
            '{"a": "b"c"}',
            '{"a": tru}',
            "{'a': 1}",
        ),
        '{"a": ' + 5000 * "1" + "}",  # more digits than Python reads
    ],
)
def test_other_texts_are_no_flat_objects(text):
    assert not is_flat(text)


@settings(deadline=None)
@given(st.text('{}[]":,.-+eE019 tnulfarse\\\n', max_size=30).map(lambda inner: f'{{"a":{inner}}}'))
def test_every_flat_object_can_be_decoded(text):
    assert not is_flat(text) or isinstance(DECODE(text), dict)
