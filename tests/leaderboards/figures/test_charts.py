"""Figures of a suite."""

import re

import numpy as np
import pandas as pd

from leaderboards.figures.charts import (
    _lanes,
    coverage,
    critical_difference_diagram,
    pareto,
    pareto_front,
    rank_distribution,
)
from leaderboards.stats import CriticalDifference

POINTS = pd.DataFrame(
    {"cost": [1.0, 2.0, 3.0, 4.0], "quality": [5.0, 4.0, 4.5, 1.0]}, index=["cheap", "middle", "beaten", "best"]
)


def test_pareto_front_holds_undominated_methods():
    assert pareto_front(POINTS, low_is_good=True) == ["cheap", "middle", "best"]
    assert pareto_front(POINTS, low_is_good=False) == ["cheap"]


def test_overlapping_bars_get_separate_lanes():
    assert _lanes([(0, 3), (2, 5), (4, 6)]) == [(0, 3, 0), (2, 5, 1), (4, 6, 0)]


def found() -> CriticalDifference:
    ranks = pd.Series([1.2, 2.0, 2.8], ["a<b>", "b", "c"])
    return CriticalDifference(ranks, 9, 0.001, 1.1, pd.DataFrame(), (("a<b>", "b"), ("b", "c")), "")


def drawn() -> dict[str, str]:
    places = pd.DataFrame({"dataset": ["x", "y"] * 2, "method": ["a<b>", "a<b>", "b", "b"], "rank": [1.0, 2, 2, 1]})
    shares = pd.DataFrame(0.9, ["a<b>", "b"], [50, 80, 90, 95])
    return {
        "ranks": rank_distribution(
            places, {"a<b>": (1.5, 1.0, 2.0), "b": (1.5, np.nan, np.nan)}, {"a<b>": True, "b": False}
        ),
        "critical": critical_difference_diagram(found()),
        "pareto": pareto(POINTS.rename({"cheap": "a<b>"}), ("time", "NMLL"), True, "k3"),
        "coverage": coverage(shares),
    }


def test_figures_use_page_colours_without_inline_styles():
    for name, svg in drawn().items():
        assert re.search(r'class="(ahead|mean|level90)"|var\(--ours\)', svg), name
        assert "style=" not in svg, name
        assert not re.search("#0[1-5]0[1-5]0[1-5]", svg), name
        assert "a&lt;b&gt;" in svg, name
        assert "nan" not in svg.lower(), name


def test_figures_are_deterministic():
    assert drawn() == drawn()


def test_critical_difference_has_the_scale_of_ranks():
    """The scale ends 0.3 beyond the last mean rank of 2.8: from 1 to 3.1, of which the difference of 1.1 is 52.38 %."""
    svg = drawn()["critical"]
    assert 'class="bar published" x1="0.00%" x2="52.38%"' in svg
    assert re.findall('class="mean" cx="([^"]+)"', svg) == ["9.52%", "47.62%", "85.71%"]
    assert svg.count('class="joined"') == 2


def test_coverage_is_drawn_relative_to_nominal():
    """From 40 points too many at 50 % to 5 too few at 95 %, and a margin of 4 % of these 45."""
    svg = drawn()["coverage"]
    where = dict(re.findall('<svg x="([^"]+)" y="9.5" overflow="visible"><path class="level(..)"', svg))
    assert {level: place for place, level in where.items()} == {
        "50": "96.30%", "80": "34.57%", "90": "13.99%", "95": "3.70%",
    }  # fmt: skip
