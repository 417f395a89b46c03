"""Results folders of every schema version are read for ever; `assets/README.md` says how each was made."""

import shutil
from pathlib import Path

import pytest

from lockstep_bench import leaderboards
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.bench.results.reader import CellFiles
from lockstep_bench.bench.schema import CELLS, READABLE_VERSIONS
from lockstep_bench.leaderboards.data.results import read_results

ASSETS = Path(__file__).with_name("assets")
CELLS_OF_A_FOLDER = ("diabetes", "map"), ("diabetes", "mfvi"), ("wdbc", "map")
NMLL = {
    **dict.fromkeys((2, 3, 4), (6.023345047941779, 5.630803853139287, 0.2037699030153049)),
    5: (5.568572129658301, 5.659377415791704, 0.20477483120298473),
    **dict.fromkeys((6, 7), (5.568572112442702, 5.659377412096636, 0.2047748419516137)),
}


@pytest.fixture(params=READABLE_VERSIONS)
def version(request):
    """A schema version that this program reads."""
    return request.param


@pytest.fixture
def nmll(version):
    """The NMLL of each cell of the results folder of that version, by data set and method."""
    return dict(zip(CELLS_OF_A_FOLDER, NMLL[version], strict=True))


@pytest.fixture
def old(version, tmp_path):
    """A copy of the results folder of that version."""
    return shutil.copytree(ASSETS / f"results-v{version}", tmp_path / "old")


def test_all_cells_of_old_folders_are_read(old, version, nmll):
    cells = CellFiles(old)
    assert cells.unreadable == {}
    assert cells.table.schema == CELLS
    assert set(cells.table["schema_version"].to_pylist()) == {version}
    assert cells.table["code_identity"].null_count == (0 if version >= 4 else len(nmll))
    assert set(cells.table["execution"].to_pylist()) == {"native" if version >= 5 else None}
    assert cells.table["interval_score_90"].null_count == (1 if version >= 6 else len(nmll))  # wdbc has none
    rows = cells.table.to_pylist()
    assert {(row["dataset"], row["method"]): row["nmll"] for row in rows} == nmll


def test_runs_find_old_cells_finished(old):
    results = Results(old)
    assert results.mend() == []
    assert results.rows()["status"].tolist() == ["ok"] * len(CELLS_OF_A_FOLDER)


def test_pages_show_old_numbers(old, version, tmp_path, nmll):
    assert read_results(old).skipped == []
    page = leaderboards.build(old, tmp_path / "site").read_text()
    assert "diabetes" in page
    older = "Not measured, because all rows are older than these metrics: Interval score 50 %"
    assert (older in (tmp_path / "site" / "dataset-diabetes.html").read_text()) == (version < 6)
    exported = leaderboards.export(old)
    shown = exported[exported["metric"] == "nmll"].set_index(["dataset", "method"])["mean"]
    assert shown.to_dict() == nmll
