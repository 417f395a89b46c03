"""Forest plots, and the axes that they share with dot plots."""

import re

import numpy as np
import pytest
from matplotlib.ticker import MaxNLocator

from lockstep_bench.leaderboards.figures.axis import Axis
from lockstep_bench.leaderboards.figures.forest import ForestColumn, ForestEstimate, forest, span

NONE = ForestEstimate(np.nan, np.nan, np.nan)


def test_axis_position_is_linear_and_clipped():
    axis = Axis(2.0, 6.0)
    assert [axis.at(v) for v in (2.0, 3.0, 6.0, 99.0, -np.inf)] == ["0.00%", "25.00%", "100.00%", "100.00%", "0.00%"]


def test_axis_has_labelled_grid_and_zero_line():
    parts = "".join(Axis(-1.0, 1.0).ruled(100, "<b>", most=4, zero=0.0))
    assert re.findall('class="tick" x="([^"]+)"[^>]*>([^<]+)<', parts)[:5] == [
        ("0.00%", "−1.0"),
        ("25.00%", "−0.5"),
        ("50.00%", "0.0"),
        ("75.00%", "0.5"),
        ("100.00%", "1.0"),
    ]
    assert parts.count('class="zero" x1="50.00%"') == 1
    assert "&lt;b&gt;" in parts


@pytest.mark.parametrize("most", [2, 4, 6])
def test_ticks_are_those_of_matplotlib(most):
    rng = np.random.default_rng(most)
    ends = np.sort(rng.normal(size=(500, 2)) * 10.0 ** rng.integers(-8, 9, (500, 1)) + rng.integers(-3, 4, (500, 1)))
    for low, high in ends.tolist():
        axis = Axis(low, high)
        theirs = [v for v in MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high) if axis.holds(v)]
        assert axis.ticks(most) == pytest.approx(theirs, rel=1e-9, abs=1e-9 * (high - low))


@pytest.mark.parametrize("ends", [(2.0, 2.0), (0.0, np.nan), (-np.inf, 1.0)])
def test_axis_without_width_has_no_ticks(ends):
    assert Axis(*ends).ticks(6) == []


def test_forest_row_has_estimate_in_each_column():
    columns = [
        ForestColumn("", [ForestEstimate(2, 1, 3), NONE]),
        ForestColumn("", [ForestEstimate(0, -1, 1), ForestEstimate(0.5, 0, 1)], 0.0),
    ]
    drawn = forest(["a", "$x$ <b>"], [True, False], columns)
    assert drawn.count("<circle") == 3
    assert drawn.count('<circle class="ahead"') == 2
    assert drawn.count('class="bar ahead"') == 2
    assert "$x$ &lt;b&gt;" in drawn
    assert "nan" not in drawn.lower()


@pytest.mark.parametrize("sign", [1, -1])
def test_outlier_becomes_an_arrow_at_the_axis_end(sign):
    good = [ForestEstimate(value, value - 0.1, value + 0.1) for value in (1.0, 1.1, 1.2, 1.3)]
    terrible = ForestEstimate(sign * 50.0, sign * 40.0, sign * 60.0)
    low, high = span(ForestColumn("", [*good, terrible]))
    assert 0 < low < high < 3
    drawn = forest(list("abcde"), [True] * 5, [ForestColumn("", [*good, terrible])])
    assert drawn.count("<circle") == 4
    assert re.search(f'<svg x="{"100%" if sign > 0 else "0"}" y="[^"]+" overflow="visible"><path class="ahead"', drawn)
