"""A finished cell is there and whole, or not there."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from lockstep_bench.bench.experiment.available import Missing
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.results import encoding, storage
from lockstep_bench.bench.results.folder import FOLDERS, Results
from lockstep_bench.bench.results.lock import HOLDER, LOCK
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.rows.parquet_with_digest import sealed
from lockstep_bench.shared.schema import predictions_schema

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)


class Crash(BaseException):
    """An exception that nothing catches, as sudden as a kill."""


def predictions() -> pa.Table:
    point = {"row": 4, "ood": False, "y": 1.0, "mean": [0.5, 1.5], "variance": [0.25, 0.5], "nll": 0.7}
    return pa.Table.from_pylist([point], schema=predictions_schema(2))


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


def test_written_cell_stores_row_and_all_tables(results, result_of):
    assert not results.has(CELL)
    written = result_of(CELL, nmll=1.25, tables={"predictions": predictions()})
    results.write(written)
    assert results.has(CELL)
    stored = pq.read_table(results.out / "cells" / f"{CELL.key}.parquet")
    assert stored.schema.equals(CELLS)
    (row,) = stored.to_pylist()
    assert row == written.row
    assert row["nmll"] == 1.25
    assert pq.read_table(results.out / "predictions" / f"{CELL.key}.parquet").equals(predictions())


def test_row_inside_a_published_file_is_found(results, result_of):
    others = [replace(CELL, split=4), replace(CELL, method="map"), replace(CELL, protocol=Protocol(epochs=7))]
    rows = [result_of(cell, nmll=nmll).to_table() for nmll, cell in enumerate([CELL, *others], 1)]
    (results.out / "cells").mkdir(parents=True)
    (results.out / "cells/uci.parquet").write_bytes(sealed(pa.concat_tables(rows)))
    pq.write_table(rows[1].drop_columns("rmse"), results.out / "cells/older.parquet")
    assert [results.row(cell)["nmll"] for cell in (CELL, *others[1:])] == [1, 3, 4]
    results.write(result_of(CELL, nmll=5.0))  # is taken instead
    assert results.row(CELL)["nmll"] == 5


def test_separate_file_overrides_a_cells_published_row(results, result_of):
    (results.out / "cells").mkdir(parents=True)
    published = [result_of(cell, nmll=1.0).to_table() for cell in (CELL, replace(CELL, split=4))]
    (results.out / "cells/uci.parquet").write_bytes(sealed(pa.concat_tables(published)))
    assert results.rows()["split"].tolist() == [CELL.split, 4]
    results.write(result_of(CELL, "failed"))
    rows = Results(results.out).rows()
    assert rows["status"].tolist() == ["ok", "failed"]
    assert rows["split"].tolist() == [4, CELL.split]
    assert rows.index.tolist() == [0, 1]


def test_writing_a_cell_leaves_no_temporary_files(results, result_of):
    results.write(result_of(CELL, tables={"predictions": predictions()}))
    assert files(results.out) == [f"cells/{CELL.key}.parquet", f"predictions/{CELL.key}.parquet"]


def test_cell_without_predictions_stores_only_its_row(results, result_of):
    results.write(result_of(CELL, "failed"))
    assert files(results.out) == [f"cells/{CELL.key}.parquet"]


@pytest.mark.parametrize("other", [{"split": 4}, {"method": "mfvi"}, {"seed": 1}, {"protocol": Protocol(trials=2)}])
def test_writing_a_cell_marks_no_other_as_finished(results, other, result_of):
    results.write(result_of(CELL))
    assert not results.has(replace(CELL, **other))


@pytest.mark.parametrize("where", [(encoding, "sealed"), (storage.os, "fsync"), (storage.os, "replace")])
@pytest.mark.parametrize("calls_before", [0, 1])  # in the predictions, in the row
def test_crash_while_writing_leaves_no_cell(results, monkeypatch, where, calls_before, result_of):
    intact, left = getattr(*where), calls_before

    def fragile(*arguments, **options):
        nonlocal left
        left -= 1
        if left < 0:
            raise Crash
        return intact(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(*where, fragile)
        with pytest.raises(Crash):
            results.write(result_of(CELL, tables={"predictions": predictions()}))
    assert not results.has(CELL)
    assert results.statuses([CELL]) == {}

    results.write(result_of(CELL, nmll=2.0, tables={"predictions": predictions()}))
    assert results.statuses([CELL]) == {CELL: "ok"}


def test_readers_ignore_leftover_files_of_a_crash(results, monkeypatch, result_of):
    results.write(result_of(CELL))
    with monkeypatch.context() as patch:
        patch.setattr(storage.os, "replace", lambda *_: (_ for _ in ()).throw(Crash))
        with pytest.raises(Crash):
            results.write(result_of(replace(CELL, split=4)))
    assert pa.dataset.dataset(results.out / "cells", schema=CELLS).to_table()["split"].to_pylist() == [3]


def test_statuses_are_returned_only_for_finished_cells(results, result_of):
    cells = {status: replace(CELL, split=split) for split, status in enumerate(["ok", "diverged", "failed"])}
    for status, cell in cells.items():
        results.write(result_of(cell, status))
    asked = [*cells.values(), replace(CELL, split=19)]
    assert results.statuses(asked) == {cell: status for status, cell in cells.items()}
    assert results.statuses([]) == {}


def test_cells_of_several_runs_read_as_one_table(results, result_of):
    """Runs of other methods, protocols and statuses, with and without metrics."""
    one, other = CELL, Cell("uci", "boston", "map", 0, "quick-modified", Protocol(trials=2), 7)
    Results(results.out).write(result_of(one, nmll=1.5, rmse=0.5, tables={"predictions": predictions()}))
    Results(results.out).write(result_of(other, "failed", error="it broke"))
    table = pa.dataset.dataset(results.out / "cells", schema=CELLS).to_table().sort_by("dataset")
    assert table.schema == CELLS
    assert table["dataset"].to_pylist() == ["boston", "yacht"]
    assert table["nmll"].to_pylist() == [None, 1.5]
    assert table["error"].to_pylist() == ["it broke", None]


def test_tuning_study_file_is_named_by_cell_key(results):
    assert results.journal(CELL) == results.out / "studies" / f"{CELL.key}.json"


def test_missing_data_sets_of_the_latest_run_are_stored(results):
    results.note_missing([Missing("boston", "no files", "fetch them"), Missing("yacht", "no files", "fetch them")])
    results.note_missing([Missing("yacht", "still no files", "fetch them")])
    noted = json.loads((results.out / "unavailable.json").read_text())
    assert noted == [{"dataset": "yacht", "reason": "still no files", "remedy": "fetch them", "no_connection": ""}]


def test_fresh_start_in_an_empty_folder_moves_nothing(results):
    assert results.put_aside() is None
    assert not results.out.exists()


def test_starting_over_twice_keeps_both_old_results(results, result_of):
    asides = []
    for nmll in (1.0, 2.0):
        results.write(result_of(CELL, nmll=nmll, tables={"predictions": predictions()}))
        results.journal(CELL).parent.mkdir(parents=True)
        results.journal(CELL).write_text(f"study {nmll}")
        results.note_missing([])
        asides.append(results.put_aside())
        assert not results.has(CELL)
    assert asides == [results.out / "superseded" / "1", results.out / "superseded" / "2"]
    for aside, nmll in zip(asides, (1.0, 2.0), strict=True):
        (status,) = Results(aside).statuses([CELL]).values()
        assert status == "ok"
        assert pq.read_table(aside / "cells" / f"{CELL.key}.parquet")["nmll"].to_pylist() == [nmll]
        assert Results(aside).journal(CELL).read_text() == f"study {nmll}"
        assert len(files(aside)) == 4


def test_starting_over_leaves_foreign_files_in_place(results, result_of):
    results.write(result_of(CELL))
    (results.out / "html").mkdir()
    (results.out / "html" / "index.html").write_text("page")
    results.put_aside()
    assert (results.out / "html" / "index.html").read_text() == "page"


@pytest.mark.parametrize("part", ["predictions", "studies", "longer", "timings"])
def test_symbolic_link_to_a_files_folder_is_refused(results, tmp_path, part):
    (tmp_path / "other").mkdir()
    (results.out / part).mkdir(parents=True)
    (results.out / part / "uci").symlink_to(tmp_path / "other")
    results.require_plain()
    with pytest.raises(InvalidRequest, match=rf"{part}/uci is in the way of results: it is a link.*another --out"):
        results.require_place([CELL])
    results.require_place([replace(CELL, suite="toy")])


@pytest.mark.parametrize(
    "make", [lambda path: path.symlink_to("/nowhere"), Path.mkdir, os.mkfifo], ids=["link", "folder", "pipe"]
)
def test_study_path_that_is_no_file_is_refused(results, make):
    journal = results.journal(CELL)
    journal.parent.mkdir(parents=True)
    make(journal)
    with pytest.raises(InvalidRequest, match=rf"{journal} is in the way of results: it is a"):
        results.require_place([CELL])
    results.require_place([replace(CELL, split=4)])


@pytest.mark.parametrize("name", [*FOLDERS, "superseded", "html", LOCK, HOLDER, "unavailable.json"])
def test_symbolic_links_in_place_of_run_files_are_refused(results, tmp_path, name):
    results.out.mkdir()
    (results.out / name).symlink_to(tmp_path)
    with pytest.raises(InvalidRequest, match=f"{name} is in the way of results: it is a link"):
        results.require_plain()


def test_folder_name_that_is_not_utf_8_is_refused(tmp_path):
    with pytest.raises(InvalidRequest, match="is not UTF-8; rename it, or give a link to it"):
        Results(tmp_path / os.fsdecode(b"\xff")).require_plain()


@pytest.mark.parametrize("name", ["superseded", "unavailable.json"])
def test_pipes_and_folders_in_place_of_run_files_are_refused(results, name):
    os.makedirs(results.out)
    path = results.out / name
    os.mkfifo(path)
    with pytest.raises(InvalidRequest, match="it is a pipe, socket or device"):
        results.require_plain()
    path.unlink()
    path.mkdir() if name.endswith(".json") else path.touch()
    with pytest.raises(InvalidRequest, match=r"it is a (folder, not a file|file, not a folder)"):
        results.require_plain()


def test_symbolic_links_in_place_of_cell_files_are_replaced(results, tmp_path, result_of):
    victim = tmp_path / "victim"
    victim.write_text("of another")
    for path in (results.out / "cells" / f"{CELL.key}.parquet", results.out / "unavailable.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(victim)
        path.with_name(f".{path.name}.tmp").symlink_to(victim)
    results.write(result_of(CELL, nmll=1.25))
    results.note_missing([])
    assert victim.read_text() == "of another"
    assert Results(results.out).statuses([CELL]) == {CELL: "ok"}
    assert (results.out / "unavailable.json").read_text() == "[]"


def test_symbolic_link_to_the_cells_folder_is_refused(results, tmp_path, result_of):
    results.write(result_of(CELL))
    (tmp_path / "other").mkdir()
    (results.out / "cells" / "toy").symlink_to(tmp_path / "other")
    results = Results(results.out)
    results.require_place([CELL])
    with pytest.raises(InvalidRequest, match=r"cells/toy is in the way of results: it is a link.*another --out"):
        results.require_place([replace(CELL, suite="toy")])
