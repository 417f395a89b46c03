"""Units of differences to a reference."""

import pytest

from lockstep_bench.leaderboards.stats.units import compared_by_ratio, unit_of_difference


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        *(("nmll", "nats"), ("corrupted_nmll", "nats"), ("rmse", "relative"), ("fit_seconds", "relative")),
        *(("interval_score_90", "relative"), ("augrc_squared_error", "relative"), ("augrc", ""), ("accuracy", "")),
    ],
)
def test_costs_and_errors_are_compared_by_ratio(metric, unit):
    assert unit_of_difference(metric) == unit
    assert compared_by_ratio(metric) == (unit == "relative")
