"""Many cells in one file: nothing is lost, and readers of results need not know."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.leaderboards.data.results import UnavailableSet, read_results
from lockstep_bench.leaderboards.publishing import compact
from lockstep_bench.leaderboards.publishing.compact import ORDER, write_compact
from lockstep_bench.shared.schema import LONGER, TIMINGS

NO_TIMINGS = TIMINGS.empty_table().to_pandas()


def ordered(table):
    return table.sort_values(ORDER, ignore_index=True)


def test_compact_folder_keeps_every_value_of_every_row(cells, tmp_path, small_run, classification_run):
    extremes = [
        {"nmll": np.inf, "rmse": -np.inf, "crps": 1e-300, "split": 90},
        {"status": "failed", "error": "<script>\n'\"\u202e\N{SNOWMAN}", "split": 91, "n_trials": 3, "seed": 2**62},
    ]
    table = cells(*small_run, *classification_run, *extremes)
    write_compact(table, NO_TIMINGS, [], tmp_path / "compact")
    results = read_results(tmp_path / "compact")
    assert results.skipped == []
    pd.testing.assert_frame_equal(ordered(results.rows).drop(columns=["folder", "rechecked"]), ordered(table))


def test_published_bytes_do_not_depend_on_row_order(cells, tmp_path, small_run):
    table = cells(*small_run)
    for name, rows in (("one", table), ("other", table.sample(frac=1, random_state=1))):
        write_compact(rows, NO_TIMINGS, [], tmp_path / name)
    one, other = (tmp_path / name / "cells" / "uci.parquet" for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_each_suite_is_written_as_one_file(cells, tmp_path, small_run, classification_run):
    table = cells(*small_run, *classification_run)
    names = [path.name for path in write_compact(table, NO_TIMINGS, [], tmp_path / "compact")]
    assert names == ["classification.parquet", "uci.parquet"]
    assert len(pd.read_parquet(tmp_path / "compact" / "cells")) == len(table)


def test_suites_with_many_rows_are_several_files(cells, tmp_path, small_run, monkeypatch):
    monkeypatch.setattr(compact, "MOST_ROWS", 15)
    table = cells(*small_run)
    written = write_compact(table, NO_TIMINGS, [], tmp_path / "compact")
    assert [path.name for path in written] == ["uci.parquet", "uci.2.parquet", "uci.3.parquet"]
    results = read_results(tmp_path / "compact")
    pd.testing.assert_frame_equal(ordered(results.rows).drop(columns=["folder", "rechecked"]), ordered(table))


@pytest.mark.parametrize("suite", ["../../up", "/tmp/x", "a/b", ".."])
def test_suite_names_cannot_escape_the_folder(cells, tmp_path, suite):
    (path,) = write_compact(cells({"suite": suite}), NO_TIMINGS, [], tmp_path / "compact")
    assert path.resolve().parent == tmp_path / "compact" / "cells"
    read = read_results(tmp_path / "compact")
    assert read.cells["suite"].tolist() == ([suite] if suite == "a/b" else [])
    assert [reason for _, reason in read.skipped if "which is not a valid name" not in reason] == []


def test_uncontended_timings_are_kept(cells, tmp_path):
    timings = cells({"fit_seconds": 2.0, "split": 1})[TIMINGS.names]
    (_, path) = write_compact(cells({}, {"split": 1}), timings, [], tmp_path / "compact")
    assert path == tmp_path / "compact" / "timings" / "uci.parquet"
    results = read_results(tmp_path / "compact")
    pd.testing.assert_frame_equal(results.timings, timings)
    assert results.cells["fit_seconds"].dropna().tolist() == [2.0]


def test_list_of_unavailable_data_sets_is_kept(cells, tmp_path):
    missing = UnavailableSet("wine", "not downloaded", "python -m datasets fetch wine")
    write_compact(cells({}), NO_TIMINGS, [missing], tmp_path / "compact")
    assert read_results(tmp_path / "compact").unavailable == [missing]


def test_duplicates_are_merged_and_contradicting_rows_kept(cells, tmp_path):
    write_compact(cells({"nmll": 1.0}, {"nmll": 1.0}, {"nmll": 2.0}), NO_TIMINGS, [], tmp_path / "compact")
    assert sorted(pd.read_parquet(tmp_path / "compact" / "cells")["nmll"]) == [1.0, 2.0]


def test_results_of_longer_trainings_are_kept(tmp_path, cells):
    row = dict.fromkeys(LONGER.names) | cells({"nmll": 1.0}).iloc[0].to_dict() | {"factor": 2, "trained_by": "{}"}
    longer = pd.DataFrame([{name: row[name] for name in LONGER.names}])
    write_compact(cells({"nmll": 1.0}), NO_TIMINGS, [], tmp_path / "compact", longer)
    (kept,) = read_results(tmp_path / "compact").longer.to_dict("records")
    assert (kept["factor"], kept["nmll"], kept["method"]) == (2, 1.0, "vifa")
