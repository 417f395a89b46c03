"""A finished cell is there and whole, or not there."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from bench.experiment.cells import Cell
from bench.experiment.plan import Missing
from bench.experiment.protocol import Protocol
from bench.results import folder as module
from bench.results import storage
from bench.results.folder import Results
from bench.schema import CELLS, SCHEMA_VERSION, predictions_schema

CELL = Cell("uci", "yacht", "vifa", 3, "paper", Protocol(), 0)


class Crash(BaseException):
    """As sudden as a kill."""


def row_of(cell: Cell, status: str = "ok", **metrics: float) -> dict:
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": cell.suite,
        "dataset": cell.dataset,
        "method": cell.method,
        "split": cell.split,
        "preset": cell.preset,
        "seed": cell.seed,
        "protocol": cell.protocol.to_json(),
        "protocol_hash": cell.protocol.hash,
        "status": status,
        "code_revision": "abc",
        "versions": "{}",
        "device": "cpu",
        "host": "here",
        "finished_at": datetime(2024, 2, 29, 12, tzinfo=UTC),
        **metrics,
    }


def predictions() -> pa.Table:
    point = {"row": 4, "ood": False, "y": 1.0, "mean": [0.5, 1.5], "variance": [0.25, 0.5], "nll": 0.7}
    return pa.Table.from_pylist([point], schema=predictions_schema(2))


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


def test_a_written_cell_is_there_with_all_it_was_given(results):
    assert not results.has(CELL)
    results.write(CELL, row_of(CELL, nmll=1.25), {"predictions": predictions()})
    assert results.has(CELL)
    stored = pq.read_table(results.out / "cells" / f"{CELL.key}.parquet")
    assert stored.schema.equals(CELLS)
    (row,) = stored.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == row_of(CELL, nmll=1.25)
    assert set(row) == set(CELLS.names)
    assert pq.read_table(results.out / "predictions" / f"{CELL.key}.parquet").equals(predictions())


def test_a_row_its_predictions_and_no_temporary_files(results):
    results.write(CELL, row_of(CELL), {"predictions": predictions()})
    assert files(results.out) == [f"cells/{CELL.key}.parquet", "index.jsonl", f"predictions/{CELL.key}.parquet"]


def test_a_cell_without_predictions_is_its_row_alone(results):
    results.write(CELL, row_of(CELL, "failed"))
    assert files(results.out) == [f"cells/{CELL.key}.parquet", "index.jsonl"]


@pytest.mark.parametrize("other", [{"split": 4}, {"method": "mfvi"}, {"seed": 1}, {"protocol": Protocol(trials=2)}])
def test_one_cell_is_not_another(results, other):
    results.write(CELL, row_of(CELL))
    assert not results.has(replace(CELL, **other))


@pytest.mark.parametrize("where", [(module.pq, "write_table"), (storage.os, "fsync"), (storage.os, "replace")])
@pytest.mark.parametrize("calls_before", [0, 1])  # in the predictions, in the row
def test_a_crash_while_writing_leaves_no_cell(results, monkeypatch, where, calls_before):
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
            results.write(CELL, row_of(CELL), {"predictions": predictions()})
    assert not results.has(CELL)
    assert results.statuses([CELL]) == {}

    results.write(CELL, row_of(CELL, nmll=2.0), {"predictions": predictions()})
    assert results.statuses([CELL]) == {CELL: "ok"}


def test_what_a_crash_leaves_behind_does_not_disturb_readers(results, monkeypatch):
    results.write(CELL, row_of(CELL))
    with monkeypatch.context() as patch:
        patch.setattr(storage.os, "replace", lambda *_: (_ for _ in ()).throw(Crash))
        with pytest.raises(Crash):
            results.write(replace(CELL, split=4), row_of(replace(CELL, split=4)))
    assert pa.dataset.dataset(results.out / "cells", schema=CELLS).to_table()["split"].to_pylist() == [3]


@pytest.mark.parametrize("name", [field.name for field in CELLS if not field.nullable])
def test_a_row_that_misses_a_required_value_is_refused(results, name):
    row = row_of(CELL)
    del row[name]
    with pytest.raises(pa.ArrowInvalid, match=f"'{name}'"):
        results.write(CELL, row)
    assert not results.has(CELL)


def test_a_value_of_the_wrong_type_is_refused(results):
    with pytest.raises(pa.ArrowInvalid):
        results.write(CELL, row_of(CELL, nmll="low"))
    assert not results.has(CELL)


def test_statuses_are_those_of_finished_cells(results):
    cells = {status: replace(CELL, split=split) for split, status in enumerate(["ok", "diverged", "failed"])}
    for status, cell in cells.items():
        results.write(cell, row_of(cell, status))
    asked = [*cells.values(), replace(CELL, split=19)]
    assert results.statuses(asked) == {cell: status for status, cell in cells.items()}
    assert results.statuses([]) == {}


def test_cells_of_several_runs_read_as_one_table(results):
    """Runs of other methods, protocols and statuses, with and without metrics."""
    one, other = CELL, Cell("uci", "boston", "map", 0, "quick-modified", Protocol(trials=2), 7)
    Results(results.out).write(one, row_of(one, nmll=1.5, rmse=0.5), {"predictions": predictions()})
    Results(results.out).write(other, row_of(other, "failed", error="it broke"))
    table = pa.dataset.dataset(results.out / "cells", schema=CELLS).to_table().sort_by("dataset")
    assert table.schema == CELLS
    assert table["dataset"].to_pylist() == ["boston", "yacht"]
    assert table["nmll"].to_pylist() == [None, 1.5]
    assert table["error"].to_pylist() == ["it broke", None]


def test_a_study_lies_beside_its_cell(results):
    assert results.journal(CELL) == results.out / "studies" / f"{CELL.key}.jsonl"


def test_missing_sets_are_those_of_the_latest_run(results):
    results.note_missing([Missing("boston", "no files", "fetch them"), Missing("yacht", "no files", "fetch them")])
    results.note_missing([Missing("yacht", "still no files", "fetch them")])
    noted = json.loads((results.out / "unavailable.json").read_text())
    assert noted == [{"dataset": "yacht", "reason": "still no files", "remedy": "fetch them"}]


def test_nothing_is_put_aside_where_there_is_nothing(results):
    assert results.put_aside() is None
    assert not results.out.exists()


def test_starting_over_twice_loses_nothing(results):
    asides = []
    for nmll in (1.0, 2.0):
        results.write(CELL, row_of(CELL, nmll=nmll), {"predictions": predictions()})
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
        assert len(files(aside)) == 5


def test_what_is_not_ours_stays_where_it_is(results):
    results.write(CELL, row_of(CELL))
    (results.out / "html").mkdir()
    (results.out / "html" / "index.html").write_text("page")
    results.put_aside()
    assert (results.out / "html" / "index.html").read_text() == "page"
