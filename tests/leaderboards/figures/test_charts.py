"""Figures of a suite."""

import re

import pandas as pd
import pytest

from lockstep_bench.leaderboards.figures.charts import coverage, pareto, pareto_front, rank_distribution
from lockstep_bench.leaderboards.stats import rank

POINTS = pd.DataFrame(
    {"cost": [1.0, 2.0, 3.0, 4.0], "quality": [5.0, 4.0, 4.5, 1.0]}, index=["cheap", "middle", "beaten", "best"]
)


def test_pareto_front_holds_undominated_methods():
    assert pareto_front(POINTS, low_is_good=True) == ["cheap", "middle", "best"]
    assert pareto_front(POINTS, low_is_good=False) == ["cheap"]


@pytest.fixture
def drawn(cells) -> dict[str, str]:
    rows = [{"dataset": d, "method": m, "nmll": v} for d in "xyzuvw" for m, v in {"a<b>": 1.0, "map": 2.0}.items()]
    shares = pd.DataFrame(0.9, ["a<b>", "b"], [50, 80, 90, 95])
    return {
        "ranks": rank_distribution(rank(cells(*rows), "uci", "paper", "nmll")),
        "pareto": pareto(POINTS.rename({"cheap": "a<b>"}), ("time", "NMLL"), True, "k3"),
        "coverage": coverage(shares),
    }


def test_figures_take_colours_from_the_pages_style_sheet(drawn):
    for name, svg in drawn.items():
        assert re.search(r'class="(ahead|mean|level90)"|var\(--ours\)', svg), name
        assert "style=" not in svg, name
        assert not re.search("#0[1-5]0[1-5]0[1-5]", svg), name
        assert "a&lt;b&gt;" in svg, name
        assert "nan" not in svg.lower(), name


def test_pareto_figure_is_deterministic():
    first, second = (pareto(POINTS, ("time", "NMLL"), True, "k") for _ in range(2))
    assert first == second


def test_coverage_figure_is_relative_to_nominal_coverage(drawn):
    """The axis goes from 40 points too many at 50 % to 5 too few at 95 %, with a margin of 4 % of these 45."""
    svg = drawn["coverage"]
    where = dict(re.findall('<svg x="([^"]+)" y="9.5" overflow="visible"><path class="level(..)"', svg))
    assert {level: place for place, level in where.items()} == {
        "50": "96.30%", "80": "34.57%", "90": "13.99%", "95": "3.70%",
    }  # fmt: skip
