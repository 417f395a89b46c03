"""A results folder is read once, and only files that are what their place says are results."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.many_rows import Size, write_published
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.results.folder import COLUMNS, Results
from lockstep_bench.bench.results.record import CellResult, Outcome, Provenance
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows import checking
from lockstep_bench.shared.rows.checking import JSON_OBJECTS
from lockstep_bench.shared.rows.encoded import as_frame
from lockstep_bench.shared.rows.reader import CellFiles, read_timings
from lockstep_bench.shared.schema import SCHEMA_VERSION

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)
OTHER = replace(CELL, split=4)


def row_of(cell: Cell, **others) -> dict:
    outcome, provenance = Outcome(status="ok"), Provenance.now("cpu")
    return CellResult(cell=cell, outcome=outcome, provenance=provenance, elapsed_seconds=1.0).row | others


@pytest.fixture
def out(tmp_path, result_of) -> Path:
    """A folder with two finished cells."""
    results = Results(tmp_path / "out")
    results.write(result_of(CELL))
    results.write(result_of(OTHER, status="diverged"))
    return results.out


@pytest.fixture
def reads(monkeypatch):
    """The paths of the files that are opened, in lists of those that one process opens."""
    shares, read = [], checking.read_share

    def noted(paths, schema):
        shares.append([str(path) for path in paths])
        return read(paths, schema)

    monkeypatch.setattr(checking, "read_share", noted)
    return shares


def file_of(out: Path, cell: Cell) -> Path:
    return out / "cells" / f"{cell.key}.parquet"


def write(path: Path, rows: list[dict], schema: pa.Schema = CELLS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


BOTH = {CELL.key: "ok", OTHER.key: "diverged"}


def test_deleted_cell_file_counts_as_unfinished(out):
    file_of(out, CELL).unlink()
    assert CellFiles(out).statuses == {OTHER.key: "diverged"}


def test_changed_result_file_is_read_again(out):
    write(file_of(out, CELL), [row_of(CELL, status="failed")])
    assert CellFiles(out).statuses == BOTH | {CELL.key: "failed"}


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def zeroed(path: Path) -> None:
    """Overwrite part of a file with zeros, as a power failure may, and keep its length."""
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def twice_named(path: Path) -> None:
    table = pa.Table.from_pylist([row_of(CELL)], schema=CELLS)
    pq.write_table(table.append_column("schema_version", table["schema_version"]), path)


def deep_json(path: Path) -> None:
    write(path, [row_of(CELL, diagnostics=100_000 * "[")])


def far_future(path: Path) -> None:
    table = pa.Table.from_pylist([row_of(CELL)], schema=CELLS)
    place, name = table.column_names.index("finished_at"), CELLS.field("finished_at")
    late = pa.array([2**62], pa.int64()).cast(name.type)
    pq.write_table(table.set_column(place, name, late), path)


def not_text(path: Path) -> None:
    table = pa.Table.from_pylist([row_of(CELL)], schema=CELLS)
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], "int32")), pa.py_buffer(b"\xff\xfe"))
    pq.write_table(table.set_column(table.column_names.index("error"), CELLS.field("error"), bad), path)


def misplaced(path: Path) -> None:
    write(path, [row_of(OTHER)])


def foreign(path: Path) -> None:
    write(path, [{"a": 1}], pa.schema([("a", pa.int64())]))


def incomplete(path: Path) -> None:
    write(path, [{"schema_version": SCHEMA_VERSION}], pa.schema([CELLS.field("schema_version")]))


def words_for_numbers(path: Path) -> None:
    table = pa.Table.from_pylist([row_of(CELL)], schema=CELLS)
    pq.write_table(table.set_column(table.column_names.index("nmll"), "nmll", pa.array(["low"])), path)


def nameless(path: Path) -> None:
    write(path, [row_of(CELL, dataset=None)], pa.schema([field.with_nullable(True) for field in CELLS]))


def newer(path: Path) -> None:
    write(path, [row_of(CELL, schema_version=99)])


def older(path: Path) -> None:
    write(path, [row_of(CELL, schema_version=SCHEMA_VERSION - 1)])


def without_rows(path: Path) -> None:
    write(path, [])


def twice(path: Path) -> None:
    write(path, [row_of(CELL), row_of(OTHER)])


def outside(path: Path) -> None:
    write(path, [row_of(CELL, dataset="../../elsewhere")])


def odd(path: Path) -> None:
    write(path, [row_of(CELL, status="splendid")])


def test_file_of_a_newer_version_is_left_alone(out):
    newer(file_of(out, CELL))
    cells = CellFiles(out)
    assert cells.statuses == {OTHER.key: "diverged"}
    assert (cells.mend(), cells.newer) == ([], [file_of(out, CELL)])
    (reason,) = cells.unreadable.values()
    assert f"newer version of this program: its schema version is 99; this program reads {SCHEMA_VERSION}" in reason
    with pytest.raises(InvalidRequest, match=r"wrote 1 of the results in .*Update this program, or give another --out"):
        Results(out).require_readable()
    assert file_of(out, CELL).exists()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (truncated, "cannot be read as Parquet"),
        (zeroed, "cannot be read as Parquet"),
        (empty, "cannot be read as Parquet"),
        (twice_named, "it is not a result: KeyError"),
        (deep_json, "its column diagnostics is not a JSON object"),
        (far_future, "it is not a result: OverflowError"),
        (not_text, "it cannot be read as Parquet"),
        (misplaced, f"its place is that of {CELL.key}, and it holds {OTHER.key}"),
        (foreign, "it has no column schema_version"),
        (incomplete, "it lacks the columns suite, dataset, method"),
        (words_for_numbers, "its column nmll has the type string, and double was expected"),
        (nameless, "it has no value for dataset"),
        (older, f"schema version is {SCHEMA_VERSION - 1}; this program reads {SCHEMA_VERSION}"),
        (without_rows, "it holds nothing"),
        (twice, f"it holds {CELL.key}, {OTHER.key}"),
        (outside, "its dataset is '../../elsewhere', which is not a valid name"),
        (odd, "its status is splendid; allowed are ok, diverged, failed, timeout"),
    ],
)
def test_unreadable_result_file_is_renamed_and_reported(out, spoil, why):
    spoil(file_of(out, CELL))
    cells = CellFiles(out)
    assert cells.statuses == {OTHER.key: "diverged"}
    ((aside, reason),) = cells.mend()
    assert why in reason
    assert aside == file_of(out, CELL).with_name("_split03-seed0.parquet.unreadable")
    assert aside.exists()
    assert not file_of(out, CELL).exists()
    assert CellFiles(out).unreadable == {}


def test_renamed_unreadable_files_are_never_overwritten(out):
    for _ in range(3):
        empty(file_of(out, CELL))
        CellFiles(out).mend()
    aside = [path.name for path in file_of(out, CELL).parent.glob("_*")]
    assert sorted(aside) == [f"_split03-seed0.parquet.unreadable{number}" for number in ("", 1, 2)]


def test_leftovers_of_a_killed_run_are_removed(out):
    left = file_of(out, CELL).with_name(".split05-seed0.parquet.123.tmp")
    left.write_bytes(b"half")
    cells = CellFiles(out)
    assert cells.statuses == BOTH
    assert cells.mend() == []
    assert not left.exists()


def test_one_top_level_file_may_hold_many_cells(out):
    more = [replace(CELL, split=split) for split in (5, 6)]
    write(out / "cells" / "uci.parquet", [row_of(cell) for cell in more])
    assert CellFiles(out).statuses == BOTH | {cell.key: "ok" for cell in more}
    assert CellFiles(out).mend() == []


def test_reading_changes_no_file(out):
    empty(file_of(out, CELL))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    CellFiles(out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_reading_in_parallel_gives_the_same_rows(tmp_path, reads, monkeypatch):
    cells = [replace(CELL, split=split) for split in range(7)]
    for cell in cells:
        write(file_of(tmp_path, cell), [row_of(cell)])
    for cell in (cells[3], cells[6]):
        file_of(tmp_path, cell).write_text("x")
    whole = CellFiles(tmp_path)
    monkeypatch.setattr(checking, "SHARE", 2)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    with joblib.parallel_config(backend="threading"):
        parts = CellFiles(tmp_path)
    assert sorted(map(len, reads[1:])) == [1, 2, 2, 2]
    assert whole.table["split"].to_pylist() == [0, 1, 2, 4, 5]
    assert parts.table.equals(whole.table)
    assert parts.unreadable == whole.unreadable


def test_only_needed_columns_are_read(tmp_path, monkeypatch):
    """The columns that a run needs take a third of the memory, and give the same answers."""
    write_published(tmp_path, Size(methods=20, datasets=5, splits=20))
    read, unsealed = [], checking.unsealed

    def noted(content, schema):
        read.append(unsealed(content, schema))
        return read[-1]

    monkeypatch.setattr(checking, "unsealed", noted)
    whole, needed = CellFiles(tmp_path), CellFiles(tmp_path, columns=COLUMNS)
    assert set(read[1].column_names) == {*COLUMNS} | JSON_OBJECTS & {*CELLS.names} | {
        "code_revision",
        "versions",
        "finished_at",
    }
    assert needed.encoded.nbytes < whole.encoded.nbytes / 3
    assert needed.statuses == whole.statuses
    pd.testing.assert_frame_equal(as_frame(needed.encoded), as_frame(whole.encoded.select(needed.encoded.column_names)))


def test_equal_texts_are_held_in_memory_once(tmp_path):
    """A row takes its numbers and a place in each dictionary; its protocol alone has 500 letters."""
    size = Size(methods=20, datasets=5, splits=20)
    write_published(tmp_path, size)
    rows = CellFiles(tmp_path, columns=COLUMNS).encoded
    own = rows.select([name for name in rows.column_names if name != "hparams"])
    assert own.nbytes < 200 * size.n_rows


def test_files_of_different_schemas_keep_their_order(tmp_path):
    for split in range(4):
        schema = CELLS.remove(CELLS.get_field_index("kl")) if split % 2 else CELLS
        write(file_of(tmp_path, replace(CELL, split=split)), [row_of(replace(CELL, split=split))], schema)
    assert CellFiles(tmp_path).table["split"].to_pylist() == [0, 1, 2, 3]


def test_unreadable_timing_files_are_reported(tmp_path):
    write(tmp_path / "timings" / "uci.parquet", [{"a": 1}], pa.schema([("a", pa.int64())]))
    timings = read_timings(tmp_path)
    assert len(timings.table) == 0
    (reason,) = timings.unreadable.values()
    assert "it has no column schema_version" in reason


def test_reader_does_not_import_torch():
    code = "import sys, lockstep_bench.shared.rows.reader; "
    code += "print({'torch', 'lockstep_bench.datasets', 'lockstep_bench.methods', 'optuna'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def linked(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def test_symbolic_links_are_neither_followed_nor_changed(out, tmp_path, result_of):
    other = Results(tmp_path / "other")
    other.write(result_of(CELL))
    theirs = file_of(other.out, CELL)
    theirs.with_name("split09-seed0.parquet").write_bytes(b"damaged")
    theirs.with_name(".split08-seed0.parquet.tmp").write_bytes(b"half")
    before = sorted(other.out.rglob("*"))
    linked(out / "cells" / "theirs", other.out / "cells")
    linked(file_of(out, replace(CELL, split=7)), theirs)
    linked(out / "cells" / "round", out / "cells")
    linked(out / "cells" / "gone.parquet", tmp_path / "nowhere")
    linked(out / "cells" / "itself", out / "cells" / "itself")
    cells = CellFiles(out)
    assert cells.statuses == BOTH
    assert cells.mend() == []
    assert sorted(other.out.rglob("*")) == before
    assert {path.relative_to(out / "cells").as_posix() for path in cells.passed_over} == {
        *("theirs", "round", "gone.parquet", "itself"),
        f"{replace(CELL, split=7).key}.parquet",
    }
    assert set(cells.passed_over.values()) == {"it is a link, which is not followed"}


def test_named_pipes_and_folders_are_skipped(out):
    os.mkfifo(file_of(out, replace(CELL, split=7)))
    folder = file_of(out, replace(CELL, split=8))
    folder.mkdir()
    (folder / "inside.parquet").write_bytes(b"")
    cells = CellFiles(out)
    assert cells.statuses == BOTH
    assert cells.mend() == []
    assert list(cells.passed_over.values()) == [
        "it is a pipe, socket or device, not a file",
        "it is a folder, not a file",
    ]
    assert folder.is_dir()


def test_folder_of_named_pipes_has_no_timings(tmp_path):
    (tmp_path / "timings").mkdir()
    os.mkfifo(tmp_path / "timings" / "uci.parquet")
    assert "a pipe" in read_timings(tmp_path).unreadable[tmp_path / "timings" / "uci.parquet"]
