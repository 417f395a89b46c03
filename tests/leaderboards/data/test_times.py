"""Times of a device that did other work as well are shown nowhere."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.data.times import about_times, latest_timings, seconds_as_run, with_exclusive_times
from lockstep_bench.leaderboards.stats.summary import summarise
from lockstep_bench.shared.columns import CELLS
from lockstep_bench.shared.schema import TIMES, TIMINGS, timing_key

SHARED = dict.fromkeys(TIMES, 9.0) | {"nmll": 1.0}


@pytest.fixture
def timings(row):
    """Rows of timings, from dictionaries of what matters."""

    def make(*rows: dict) -> pa.Table:
        whole = [{name: one for name, one in row(**own).items() if name in TIMINGS.names} for own in rows]
        return pa.Table.from_pylist(whole, schema=TIMINGS)

    return make


def fit_seconds(cells: pd.DataFrame) -> list[float]:
    return cells["fit_seconds"].tolist()


def test_only_times_on_an_exclusive_device_are_kept(cells, timings):
    found = with_exclusive_times(
        cells(*(SHARED | {"split": split, "exclusive": known} for split, known in enumerate((True, False, None)))),
        timings().to_pandas(),
    )
    np.testing.assert_equal(fit_seconds(found), [9.0, np.nan, np.nan])
    np.testing.assert_equal(found["sgd_ratio"].tolist(), [9.0, np.nan, np.nan])
    assert found["nmll"].tolist() == [1.0, 1.0, 1.0]


def test_uncontended_repetition_replaces_all_times_of_a_method(cells, timings):
    rows = cells(*(SHARED | {"split": split, "exclusive": True} for split in range(3)))
    once = timings({"split": 1, "fit_seconds": 2.0, "tune_seconds": 3.0}).to_pandas()
    found = with_exclusive_times(rows, once)
    np.testing.assert_equal(fit_seconds(found), [np.nan, 2.0, np.nan])
    np.testing.assert_equal(found["tune_seconds"].tolist(), [np.nan, 3.0, np.nan])
    np.testing.assert_equal(found["sgd_ratio"].tolist(), [np.nan] * 3)


@pytest.mark.parametrize("other", [{"method": "map"}, {"protocol_hash": "b"}, {"preset": "quick"}, {"dataset": "wine"}])
def test_timing_applies_only_to_its_method_data_and_protocol(cells, timings, other):
    rows = cells(SHARED | {"exclusive": False}, SHARED | {"exclusive": True} | other)
    found = with_exclusive_times(rows, timings({"fit_seconds": 2.0}).to_pandas())
    assert fit_seconds(found) == [2.0, 9.0]


def test_total_time_adds_tuning_and_final_fit(cells, timings):
    alone = {"exclusive": True, "fit_seconds": 0.5}
    shared = {"split": 2, "tune_seconds": 2.0, "fit_seconds": 1.0}
    rows = cells(alone | {"tune_seconds": 2.0}, alone | {"split": 1}, shared)
    total = with_exclusive_times(rows, timings().to_pandas())["total_seconds"]
    np.testing.assert_equal(total.tolist(), [2.5, 0.5, np.nan])


def test_times_as_run_are_those_of_the_row_that_is_used(cells, timings):
    """An earlier row of the same cell, which `fingerprints.decide` leaves out, does not count."""
    early, late = (pd.Timestamp(f"2026-01-0{day}", tz="UTC") for day in (1, 2))
    rows = cells(
        SHARED | {"finished_at": early}, {"finished_at": late, "fit_seconds": 1.0}, {"status": "failed", "split": 1}
    )
    used = with_exclusive_times(rows.iloc[1:], timings().to_pandas())
    found = seconds_as_run(used, rows)
    assert found.index.equals(used.index)
    np.testing.assert_equal(found.to_numpy(), [[0.0, 1.0], [np.nan, np.nan]])


def test_empty_frames_and_any_index_are_accepted(cells, timings):
    rows = cells(SHARED | {"split": 1}, SHARED | {"exclusive": True}).set_axis([7, 3])
    np.testing.assert_equal(
        fit_seconds(with_exclusive_times(rows, timings({"split": 1, "fit_seconds": 2.0}).to_pandas())), [2.0, np.nan]
    )
    assert with_exclusive_times(rows.iloc[:0], timings().to_pandas()).empty


def test_reading_a_results_folder_drops_contended_times(folder, timings):
    out = folder(SHARED | {"split": 0, "exclusive": False}, SHARED | {"split": 1, "exclusive": False})
    path = out / "timings" / f"{timing_key('uci', 'energy', 'vifa', 'paper', 'aaaaaaaa')}.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(timings({"fit_seconds": 0.5}), path)
    (path.parent / "broken.parquet").write_bytes(b"PAR1 but not")
    found = read_results(out)
    np.testing.assert_equal(sorted(fit_seconds(found.cells)), [0.5, np.nan])
    assert [one.path for one in found.skipped] == ["timings/uci/energy/vifa/broken.parquet"]
    table = leaderboards.export(out).set_index("metric")
    assert table.loc["fit_seconds", ["mean", "n"]].tolist() == [0.5, 1]


def test_note_states_whether_times_are_uncontended(cells, timings, folder, tmp_path):
    alone, beside = SHARED | {"exclusive": True}, SHARED | {"exclusive": False, "method": "map"}

    def told(*rows: dict) -> str:
        return about_times(summarise(with_exclusive_times(cells(*rows), timings().to_pandas())))

    assert told(alone) == "Times are those of one cell alone on a device that did nothing else."
    assert "No times of map: " in told(alone, beside)
    assert told(beside).startswith("No times: ")
    many = [beside | {"method": f"m{place}"} for place in range(8)]
    assert "No times of m0, m1, m2, m3, m4, m5 and 2 more: they" in told(alone, *many)
    index = leaderboards.build(folder(alone, beside), html=tmp_path / "html")
    assert "No times of map: " in index.with_name("dataset-energy.html").read_text()


def test_latest_uncontended_timing_is_used(timings):
    early, late = (pd.Timestamp(f"2026-01-0{day}", tz="UTC") for day in (1, 2))
    rows = [{"fit_seconds": 2.0, "finished_at": late}, {"fit_seconds": 1.0, "finished_at": early, "split": 1}]
    assert latest_timings(timings(*rows).to_pandas())["fit_seconds"].tolist() == [2.0]


def test_every_time_column_exists_in_both_schemas():
    assert set(TIMES) <= set(CELLS.names) & set(TIMINGS.names)
