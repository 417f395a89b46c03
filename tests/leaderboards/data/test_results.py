"""Reading a results folder that others may have written to."""

import json
import os
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.shared.columns import CELLS


def test_each_result_file_holds_one_cell(folder):
    out = folder({"split": 0, "nmll": 1.0}, {"split": 1, "nmll": 2.0})
    results = read_results(out)
    assert sorted(results.cells["nmll"]) == [1.0, 2.0]
    assert results.skipped == []
    assert results.unavailable == []


def test_empty_results_folder_raises_no_error(tmp_path):
    results = read_results(tmp_path)
    assert results.cells.empty
    assert list(results.cells.columns) == [*CELLS.names, "folder", "rechecked", "total_seconds"]


def test_invalid_files_are_listed_and_skipped(folder):
    out = folder({"nmll": 1.0})
    (out / "cells" / "odd.parquet").write_text("hello")
    results = read_results(out)
    assert len(results.cells) == 1
    assert results.skipped == [("cells/odd.parquet", "it cannot be read as Parquet")]


def test_missing_and_unknown_columns_are_tolerated(folder, row):
    out = folder({"nmll": 1.0})
    table = pa.Table.from_pylist([row(split=1, nmll=2.0)], schema=CELLS).drop_columns(["crps"])
    pq.write_table(table.append_column("brand_new", pa.array([1.0])), out / "cells" / "other.parquet")
    cells = read_results(out).cells
    assert sorted(cells["nmll"]) == [1.0, 2.0]
    assert "brand_new" not in cells


def test_unavailable_data_sets_are_read(folder):
    out = folder()
    entry = {"dataset": "wine", "reason": "not downloaded", "remedy": "python -m datasets fetch wine"}
    (out / "unavailable.json").write_text(json.dumps([entry]))
    assert [one._asdict() for one in read_results(out).unavailable] == [entry]


@pytest.mark.parametrize("content", ["{", '{"dataset": "wine"}', '[{"dataset": "wine"}]', "3", "null", "[" * 100_000])
def test_broken_list_of_unavailable_data_sets_is_reported(folder, content):
    out = folder()
    (out / "unavailable.json").write_text(content)
    results = read_results(out)
    assert results.unavailable == []
    assert results.skipped[0].path == "unavailable.json"


def test_several_folders_are_read_as_one(tmp_path, row):
    for name, split in (("a", 0), ("b", 1)):
        (tmp_path / name / "cells").mkdir(parents=True)
        table = pa.Table.from_pylist([row(split=split, nmll=1.0)], schema=CELLS)
        pq.write_table(table, tmp_path / name / "cells" / "one.parquet")
    results = read_results(tmp_path / "a", tmp_path / "b")
    assert results.cells["split"].tolist() == [0, 1]
    assert results.cells["folder"].tolist() == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_messages_about_bad_files_name_their_folder_once(tmp_path):
    entry = {"dataset": "wine", "reason": "not downloaded", "remedy": "fetch it"}
    for name in ("a", "b"):
        (tmp_path / name / "cells").mkdir(parents=True)
        (tmp_path / name / "cells" / "odd.parquet").touch()
        (tmp_path / name / "unavailable.json").write_text(json.dumps([entry]))
    results = read_results(tmp_path / "a", tmp_path / "b")
    assert [one.path for one in results.skipped] == [f"{tmp_path / name}/cells/odd.parquet" for name in ("a", "b")]
    assert [one.dataset for one in results.unavailable] == ["wine"]


def test_contradicting_repeated_rows_are_resolved(folder):
    results = read_results(folder({"nmll": 1.0}, {"nmll": 2.0, "finished_at": datetime(2027, 1, 1, tzinfo=UTC)}))
    assert results.cells["nmll"].tolist() == [2.0]
    assert [choice.n_left_out for choice in results.choices] == [1]


def test_symbolic_links_and_pipes_are_listed_and_skipped(folder, tmp_path):
    out = folder({"split": 0, "nmll": 1.0})
    (out / "cells" / "round").symlink_to(out)
    os.mkfifo(out / "cells" / "pipe.parquet")
    os.mkfifo(out / "unavailable.json")
    results = read_results(out)
    assert results.cells["nmll"].tolist() == [1.0]
    assert {file.path for file in results.skipped} == {"cells/round", "cells/pipe.parquet", "unavailable.json"}
