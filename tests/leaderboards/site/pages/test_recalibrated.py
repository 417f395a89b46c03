"""Recalibrated scores on pages: columns of the main table and of the menu, and in published results."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from built_pages import Built

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.results import read_results
from lockstep_bench.leaderboards.publishing.contents import write_contents
from lockstep_bench.shared.rows.recalibrated import RECALIBRATED


@pytest.fixture(scope="module")
def results(shared_folder, row):
    """A folder with three methods on two splits, two of which are recalibrated."""
    rows, scores = [], []
    for method, nmll, recalibrated in (("map", 3.0, 2.25), ("vifa", 2.5, 2.375), ("mfvi", 2.0, None)):
        for split in (0, 1):
            values = {"method": method, "split": split, "nmll": nmll + split, "coverage_90": 0.5}
            rows.append(values)
            if recalibrated:
                values = values | {"coverage_90_recalibrated": 0.875, "nmll_recalibrated": recalibrated + split}
                values |= {name: row()[name] for name in RECALIBRATED.names if name in row() and name not in values}
                scores.append(values | {"recalibration_factor": 0.625, "n_held_out": 90})
    out = shared_folder(*rows)
    (out / "recalibrated").mkdir()
    pq.write_table(pa.Table.from_pylist(scores, schema=RECALIBRATED), out / "recalibrated" / "uci.parquet")
    return out


@pytest.fixture(scope="module")
def pages(results, tmp_path_factory):
    return Built(leaderboards.build(results, tmp_path_factory.mktemp("recalibrated")))


def test_recalibrated_nmll_stands_beside_nmll_in_the_main_table(pages):
    words = pages["dataset-energy.html"].words
    assert "NMLL NMLL (recalibrated)" in words
    assert "2.75" in words  # of map: the mean of 2.25 and 3.25
    assert "not recalibrated" in pages.html["dataset-energy.html"]


def test_other_recalibrated_scores_are_among_all_metrics(pages):
    words = pages["dataset-energy.html"].words
    assert "Coverage 90 % (recalibrated)" in words
    assert "Recalibration, factor" in words
    assert "0.625" in words


def test_methods_that_are_not_recalibrated_did_not_fail(pages):
    assert "2 failed" not in pages["dataset-energy.html"].words


def test_publishing_keeps_recalibrated_scores(results, tmp_path):
    write_contents(read_results(results), tmp_path / "published")
    found = read_results(tmp_path / "published" / "results")
    assert not found.skipped
    assert len(found.recalibrated) == 4
    assert sorted(found.cells["nmll_recalibrated"].dropna()) == [2.25, 2.375, 3.25, 3.375]
