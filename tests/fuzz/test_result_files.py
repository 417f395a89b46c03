"""Result files of any content: each is read as it was written, or refused by name, and ends no command."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.rows.parquet_with_digest import Damaged, unsealed
from lockstep_bench.shared.rows.reader import CellFiles, read_longer, read_timings


def damages(length: int):
    """Strategy of functions that change the bytes of a file."""
    place = st.integers(0, length - 1)
    flip = st.builds(
        lambda at, bit: lambda old: old[:at] + bytes([old[at] ^ 1 << bit]) + old[at + 1 :], place, st.integers(0, 7)
    )
    cut = st.builds(lambda at: lambda old: old[:at], place)
    put = st.builds(lambda at, more: lambda old: old[:at] + more + old[at:], place, st.binary(min_size=1, max_size=40))
    over = st.builds(
        lambda at, more: lambda old: old[:at] + more + old[at + len(more) :], place, st.binary(min_size=1, max_size=40)
    )
    swap = st.builds(lambda at, by: lambda old: old[:at] + old[by : by + 16] + old[at + 16 :], place, place)
    return st.one_of(flip, cut, put, over, swap)


@pytest.fixture(scope="module")
def intact(row, file_of) -> bytes:
    return file_of(row("vifa", "energy", 0))


@given(data=st.data())
def test_damaged_result_file_is_refused_or_reads_equal(data, intact):
    damaged = data.draw(damages(len(intact)))(intact)
    try:
        read = unsealed(damaged)
    except Damaged:
        return
    assert str(read.to_pylist()) == str(unsealed(intact).to_pylist())


@given(data=st.data())
def test_damaged_file_without_digest_crashes_no_reader(data, tmp_path_factory, row):
    content = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row("vifa", "energy", 0)], schema=CELLS), content)
    intact = content.getvalue().to_pybytes()
    out = tmp_path_factory.mktemp("out")
    (out / "cells").mkdir()
    path = out / "cells" / "old.parquet"
    path.write_bytes(data.draw(damages(len(intact)))(intact))
    files = CellFiles(out, cached=False)
    assert (len(files.table) == 1) != (list(files.unreadable) == [path])


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
JSON = st.sampled_from(["{}", "[]", "{", "[" * 3_000, '{"a": NaN}', '{"a": {"a": 1e999}}', "null"])
VALUES = {
    pa.string(): st.one_of(TEXTS, JSON),
    pa.binary(): st.binary(max_size=20),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.timestamp("us", "UTC"): st.integers(-(2**63), 2**63 - 1),
    pa.timestamp("s"): st.integers(-(2**63), 2**63 - 1),
    pa.list_(pa.int64()): st.lists(st.integers(-5, 5), max_size=3),
    pa.null(): st.none(),
}


@st.composite
def changed_columns(draw) -> list[tuple[str, pa.Array]]:
    """Columns of other types and values, some of them twice or of unknown names."""
    columns = []
    for name in draw(st.lists(st.one_of(st.sampled_from(CELLS.names), TEXTS), min_size=1, max_size=4)):
        kind = draw(st.sampled_from(list(VALUES)))
        value = draw(st.one_of(st.none(), VALUES[kind]))
        columns.append((name, pa.array([value], kind)))
    return columns


@given(changes=changed_columns(), twice=st.booleans())
def test_random_column_contents_are_read_or_refused(changes, twice, tmp_path_factory, row):
    table = pa.Table.from_pylist([row("vifa", "energy", 0)], schema=CELLS)
    for name, column in changes:
        if name in table.column_names and not twice:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    out = tmp_path_factory.mktemp("out")
    for folder, reader in (("cells", None), ("timings", read_timings), ("longer", read_longer)):
        (out / folder).mkdir()
        pq.write_table(table, out / folder / "some.parquet")
        if reader:
            reader(out)
    found = read_results(out, cached=False)
    assert len(found.rows) == 1 or any(file.path == "cells/some.parquet" for file in found.skipped)
