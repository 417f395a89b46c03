"""Trainings for longer beside their cells."""

import json
from datetime import UTC, datetime

import pandas as pd
import pytest

from lockstep_bench.leaderboards.data.longer import longer_trainings, with_convergence
from lockstep_bench.shared.schema import LONGER

IMPROVING = {"objective_gain": 0.5, "objective_gain_stderr": 0.1, "still_improving": 1.0}


@pytest.fixture
def longer(cells):
    """Return rows of trainings of one cell, from what matters of them."""

    def make(*rows: dict) -> pd.DataFrame:
        cell = cells({}).iloc[0].to_dict()
        made = [dict.fromkeys(LONGER.names) | cell | {"trained_by": "{}", "factor": 1} | row for row in rows]
        return pd.DataFrame([{name: row[name] for name in LONGER.names} for row in made])

    return make


def test_pairs_of_trainings_give_the_gain_in_nmll(longer):
    scores = [(1, 2.5, 2.0), (2, 2.25, 2.5), (4, 2.0, 2.5)]
    rows = [{"factor": f, "nmll": nmll, "validation_nmll": validation} for f, nmll, validation in scores]
    two, four = longer_trainings(longer(*rows))
    assert (two.factor, two.gain, two.validation_gain) == (2, 0.25, -0.5)
    assert (four.factor, four.gain, four.validation_gain) == (4, 0.5, -0.5)
    assert longer_trainings(longer(*rows[1:])) == []  # without the comparison


def test_latest_repeated_training_is_used(longer):
    days = [{"finished_at": datetime(2026, 1, day, tzinfo=UTC), "nmll": float(day)} for day in (3, 2)]
    (pair,) = longer_trainings(longer(*days, {"factor": 2, "nmll": 1.0}))
    assert pair.nmll == 3.0


@pytest.mark.parametrize(("nmll", "trusted"), [(2.0, True), (2.05, True), (2.2, False)])
def test_repeated_training_supplies_missing_convergence_diagnostics(cells, longer, nmll, trusted):
    repeated = longer({"nmll": nmll, "diagnostics": json.dumps(IMPROVING | {"kl": 9.0})})
    old = cells({"nmll": 2.0, "diagnostics": json.dumps({"kl": 1.0})}, {"nmll": 2.0, "split": 1})
    found = with_convergence(old, repeated)
    assert json.loads(found["diagnostics"][0]) == {"kl": 1.0} | (IMPROVING if trusted else {})
    assert found["diagnostics"].isna()[1]
    own = cells({"nmll": 2.0, "diagnostics": json.dumps({"still_improving": 0.0})})
    assert json.loads(with_convergence(own, repeated)["diagnostics"][0])["still_improving"] == 0.0
