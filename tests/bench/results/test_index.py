"""What a folder holds is known without reading it twice, and never from what is not what its place says."""

import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.experiment.cells import Cell
from bench.experiment.protocol import Protocol
from bench.results import index as module
from bench.results.folder import Results
from bench.results.index import Index
from bench.schema import CELLS, SCHEMA_VERSION

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)
OTHER = replace(CELL, split=4)


def row_of(cell: Cell, **others) -> dict:
    return {
        **{name: getattr(cell, name) for name in ("suite", "dataset", "method", "split", "preset", "seed")},
        "schema_version": SCHEMA_VERSION,
        "protocol": cell.protocol.to_json(),
        "protocol_hash": cell.protocol.hash,
        "status": "ok",
        "code_revision": "abc",
        "versions": "{}",
        "device": "cpu",
        "host": "here",
        "finished_at": datetime(2024, 2, 29, 12, tzinfo=UTC),
        **others,
    }


@pytest.fixture
def out(tmp_path) -> Path:
    """A folder with two finished cells."""
    results = Results(tmp_path / "out")
    results.write(CELL, row_of(CELL))
    results.write(OTHER, row_of(OTHER, status="diverged"))
    return results.out


@pytest.fixture
def reads(monkeypatch):
    """The names of the files that are read."""
    seen, real = [], module._read

    def read(path, name):
        seen.append(name)
        return real(path, name)

    monkeypatch.setattr(module, "_read", read)
    return seen


def file_of(out: Path, cell: Cell) -> Path:
    return out / "cells" / f"{cell.key}.parquet"


def write(path: Path, rows: list[dict], schema: pa.Schema = CELLS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


BOTH = {CELL.key: "ok", OTHER.key: "diverged"}


def test_what_was_written_is_known_without_being_read(out, reads):
    assert Index(out).statuses == BOTH
    assert reads == []


@pytest.mark.parametrize("left", ["", "nonsense\n", '{"file": "uci', '{"file": 1}\n[]\n3\n{"file": "a", "stamp": 0}\n'])
def test_an_index_that_is_lost_or_spoilt_is_made_again_from_the_files(out, reads, left):
    (out / module.NAME).write_text(left)
    assert Index(out).statuses == BOTH
    assert len(reads) == 2
    assert Index(out).mend() == []
    assert Index(out).statuses == BOTH
    assert len(reads) == 4  # and no more, once it is mended


def test_a_cell_that_is_gone_is_not_finished(out):
    file_of(out, CELL).unlink()
    assert Index(out).statuses == {OTHER.key: "diverged"}


def test_a_file_that_changed_is_read_again(out, reads):
    write(file_of(out, CELL), [row_of(CELL, status="failed")])
    assert Index(out).statuses == BOTH | {CELL.key: "failed"}
    assert len(reads) == 1


def test_the_second_of_two_lines_about_a_file_counts(out):
    Results(out).write(CELL, row_of(CELL, status="failed"))
    assert Index(out).statuses[CELL.key] == "failed"


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def zeroed(path: Path) -> None:
    """As a failure of power may leave it: its length right, a part of it zeros."""
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def anothers(path: Path) -> None:
    write(path, [row_of(OTHER)])


def foreign(path: Path) -> None:
    write(path, [{"a": 1}], pa.schema([("a", pa.int64())]))


def newer(path: Path) -> None:
    write(path, [row_of(CELL, schema_version=99)])


def without_rows(path: Path) -> None:
    write(path, [])


def twice(path: Path) -> None:
    write(path, [row_of(CELL), row_of(OTHER)])


def odd(path: Path) -> None:
    write(path, [row_of(CELL, status="splendid")])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (truncated, "cannot be read as Parquet"),
        (zeroed, "cannot be read as Parquet"),
        (empty, "cannot be read as Parquet"),
        (anothers, f"its place is that of {CELL.key}, and it holds {OTHER.key}"),
        (foreign, "it lacks the columns schema_version, suite"),
        (newer, "its schema version is 99; this program reads 2, 3"),
        (without_rows, "it holds nothing"),
        (twice, f"it holds {CELL.key}, {OTHER.key}"),
        (odd, "without a value, or a status, that every result has"),
    ],
)
def test_what_is_not_what_its_place_says_is_named_and_put_aside(out, spoil, why):
    spoil(file_of(out, CELL))
    index = Index(out)
    assert index.statuses == {OTHER.key: "diverged"}
    ((aside, reason),) = index.mend()
    assert why in reason
    assert aside == file_of(out, CELL).with_name("_split03-seed0.parquet.unreadable")
    assert aside.exists()
    assert not file_of(out, CELL).exists()
    assert Index(out).strange == {}


def test_what_is_put_aside_replaces_nothing(out):
    for _ in range(3):
        empty(file_of(out, CELL))
        Index(out).mend()
    aside = [path.name for path in file_of(out, CELL).parent.glob("_*")]
    assert sorted(aside) == [f"_split03-seed0.parquet.unreadable{number}" for number in ("", 1, 2)]


def test_leftovers_of_a_kill_are_no_results_and_are_removed(out):
    left = file_of(out, CELL).with_name(".split05-seed0.parquet.123.tmp")
    left.write_bytes(b"half")
    index = Index(out)
    assert index.statuses == BOTH
    assert index.mend() == []
    assert not left.exists()


def test_a_published_file_at_the_top_has_many_cells(out):
    more = [replace(CELL, split=split) for split in (5, 6)]
    write(out / "cells" / "uci.parquet", [row_of(cell) for cell in more])
    assert Index(out).statuses == BOTH | {cell.key: "ok" for cell in more}
    assert Index(out).mend() == []


def test_a_folder_that_was_copied_is_read_again_and_right(out, tmp_path, reads):
    shutil.copytree(out, tmp_path / "copy", copy_function=shutil.copy)
    os.utime(file_of(tmp_path / "copy", CELL), (1, 1))
    assert Index(tmp_path / "copy").statuses == BOTH
    assert reads


def test_looking_changes_nothing(out):
    empty(file_of(out, CELL))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    Index(out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_the_index_is_lines_of_json(out):
    lines = [json.loads(line) for line in (out / module.NAME).read_text().splitlines()]
    assert [list(line["cells"]) for line in lines] == [[CELL.key], [OTHER.key]]
    assert lines[1]["cells"][OTHER.key]["status"] == "diverged"


def test_what_a_run_asks_of_earlier_ones_is_the_same_from_the_index_and_from_the_files(tmp_path):
    known = {"fit_seconds": 1 / 3, "n_test": 31, "exclusive": False, "code_dirty": True, "search_space": '{"lr": 1}'}
    Results(tmp_path).write(CELL, row_of(CELL, **known))
    Results(tmp_path).write(OTHER, row_of(OTHER))
    remembered = Results(tmp_path).rows()
    (tmp_path / module.NAME).unlink()
    pd.testing.assert_frame_equal(remembered, Results(tmp_path).rows())
    told = remembered.set_index("split").loc[3]
    assert {name: told[name] for name in known} == known
    assert remembered["tune_seconds"].isna().all()


def test_an_index_that_remembers_less_is_made_again(out, reads):
    lines = [json.loads(line) for line in (out / module.NAME).read_text().splitlines()]
    for line in lines:
        line["cells"] = {key: {"status": row["status"]} for key, row in line["cells"].items()}
    (out / module.NAME).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert Index(out).statuses == BOTH
    assert len(reads) == 2
