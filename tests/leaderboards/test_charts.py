"""Figures of a suite."""

import re

import numpy as np
import pandas as pd

from leaderboards.charts import _lanes, coverage, critical_difference_diagram, pareto, pareto_front, rank_distribution
from leaderboards.stats import CriticalDifference

POINTS = pd.DataFrame(
    {"cost": [1.0, 2.0, 3.0, 4.0], "quality": [5.0, 4.0, 4.5, 1.0]}, index=["cheap", "middle", "beaten", "best"]
)


def test_the_front_has_what_nothing_beats_in_both():
    assert pareto_front(POINTS, low_is_good=True) == ["cheap", "middle", "best"]
    assert pareto_front(POINTS, low_is_good=False) == ["cheap"]


def test_bars_that_overlap_get_lanes_of_their_own():
    assert _lanes([(0, 3), (2, 5), (4, 6)]) == [(0, 3, 0), (2, 5, 1), (4, 6, 0)]


def found() -> CriticalDifference:
    ranks = pd.Series([1.2, 2.0, 2.8], ["a<b>", "b", "c"])
    return CriticalDifference(ranks, 9, 0.001, 1.1, pd.DataFrame(), (("a<b>", "b"), ("b", "c")), "")


def drawn() -> dict[str, str]:
    places = pd.DataFrame({"dataset": ["x", "y"] * 2, "method": ["a<b>", "a<b>", "b", "b"], "rank": [1.0, 2, 2, 1]})
    shares = pd.DataFrame(0.9, ["a<b>", "b"], [50, 80, 90, 95])
    return {
        "ranks": rank_distribution(places, {"a<b>": (1.5, 1.0, 2.0), "b": (1.5, np.nan, np.nan)}, "k1"),
        "critical": critical_difference_diagram(found(), "k2"),
        "pareto": pareto(POINTS.rename({"cheap": "a<b>"}), ("time", "NMLL"), True, "k3"),
        "coverage": coverage(shares, "k4"),
    }


def test_figures_take_their_colours_from_the_page_and_no_style_of_their_own():
    for name, svg in drawn().items():
        assert "var(--ours)" in svg, name
        assert "style=" not in svg, name
        assert not re.search("#0[1-5]0[1-5]0[1-5]", svg), name
        assert "a&lt;b&gt;" in svg, name
        assert "nan" not in svg.lower(), name


def test_figures_are_the_same_bytes_again():
    assert drawn() == drawn()
