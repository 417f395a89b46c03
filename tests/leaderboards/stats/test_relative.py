"""Units of differences to a reference."""

import pytest

from leaderboards.stats.relative import compared_by_ratio, unit_of_difference


@pytest.mark.parametrize(
    ("metric", "ratio", "unit"),
    [
        ("nmll", False, "nats"),
        ("corrupted_nmll", False, "nats"),
        ("rmse", True, ""),
        ("fit_seconds", True, ""),
        ("accuracy", False, ""),
    ],
)
def test_costs_and_errors_are_compared_by_ratio(metric, ratio, unit):
    assert (compared_by_ratio(metric), unit_of_difference(metric)) == (ratio, unit)
