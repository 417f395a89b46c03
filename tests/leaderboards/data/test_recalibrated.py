"""Scores after recalibration stand beside those of the cell that they belong to."""

import pandas as pd
import pytest

from lockstep_bench.leaderboards.data.recalibrated import with_recalibration
from lockstep_bench.shared.rows.recalibrated import RECALIBRATED


@pytest.fixture
def recalibrated(cells):
    """Return rows of recalibrated cells, from what matters of them."""

    def make(*rows: dict) -> pd.DataFrame:
        cell = cells({}).iloc[0].to_dict()
        made = [dict.fromkeys(RECALIBRATED.names) | cell | {"recalibration_factor": 0.5} | row for row in rows]
        return pd.DataFrame([{name: row[name] for name in RECALIBRATED.names} for row in made])

    return make


def test_scores_after_recalibration_join_their_cell(cells, recalibrated):
    table = cells({"split": 1, "nmll": 2.0}, {"split": 0, "nmll": 1.0}).set_axis([7, 3])
    found = with_recalibration(table, recalibrated({"nmll": 1.0, "nmll_recalibrated": 0.75}))
    assert found.index.tolist() == [7, 3]
    assert found["nmll_recalibrated"].isna().tolist() == [True, False]
    assert found.loc[3, ["nmll_recalibrated", "recalibration_factor"]].tolist() == [0.75, 0.5]
    assert "crps_recalibrated" not in found


def test_recalibration_of_an_earlier_run_of_a_cell_is_not_used(cells, recalibrated):
    found = with_recalibration(cells({"nmll": 2.0}), recalibrated({"nmll": 1.0, "nmll_recalibrated": 0.75}))
    assert found["nmll_recalibrated"].isna().all()


def test_results_without_recalibration_keep_their_columns(cells, recalibrated):
    table = cells({"nmll": 2.0})
    assert with_recalibration(table, recalibrated().reindex(columns=RECALIBRATED.names)) is table
