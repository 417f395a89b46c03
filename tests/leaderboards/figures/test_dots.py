"""The dot plot."""

import re

import numpy as np

from lockstep_bench.leaderboards.figures.dots import DotRow, dot_plot, scale

GOOD = DotRow("vifa", [2.4, 2.5, 2.6], 2.5, 0.06, [(2.53, 0.02)])


def test_outlier_does_not_stretch_the_axis():
    terrible = DotRow("slang", [], np.nan, np.nan, [(21300000.0, 20100000.0)])
    _, high = scale([GOOD, GOOD, terrible])
    assert high < 3
    assert "→ 2.13 × 10⁷" in dot_plot([GOOD, GOOD, terrible], "NMLL")


def test_best_method_is_always_on_scale():
    low, _ = scale([GOOD, GOOD, GOOD, DotRow("best", [-50.0], -50.0, np.nan, [])])
    assert low < -50


def test_infinite_values_are_printed_beside_an_arrow():
    svg = dot_plot([GOOD, DotRow("map", [2.4, np.inf], np.inf, np.nan, [])], "NMLL")
    assert "→ ∞" in svg
    assert "nan" not in svg.lower()


def test_plot_works_with_at_most_one_finite_value():
    assert "<svg" in dot_plot([DotRow("map", [2.0], 2.0, np.nan, [])], "NMLL")
    assert "<svg" in dot_plot([DotRow("map", [np.inf], np.inf, np.nan, [])], "NMLL")


def test_dot_plot_of_forty_methods_fits_a_screen():
    """Heights are in pixels."""
    heights = []
    for n in (12, 40):
        svg = dot_plot([GOOD._replace(label=f"method {i}") for i in range(n)], "NMLL")
        heights.append(float(re.search(r'class="field" height="(\d+)"', svg)[1]))
        assert all(f">method {i}<" in svg for i in range(n))
    assert heights[0] < heights[1] < 950


def test_longest_labels_are_whole_in_small_type():
    label = "variational-laplace-tempered, 5 splits"
    drawn = dot_plot([GOOD._replace(label=label), GOOD], "NMLL")
    found = re.findall(r'<text( class="narrow")? x="0" y="[^"]*">([^<]*)<', drawn)
    assert found == [(' class="narrow"', label), ("", "vifa")]


def test_labels_are_html_escaped():
    svg = dot_plot([GOOD._replace(label="$x_1$ <b>")], "NMLL")
    assert "$x_1$ &lt;b&gt;" in svg


def test_axis_of_differences_includes_zero():
    lines = [GOOD._replace(values=[-0.1, 0.2], mean=0.05, published=[]) for _ in range(4)]
    terrible = GOOD._replace(values=[-50.0], mean=-50.0, published=[])
    low, high = scale([*lines, terrible], zero=True)
    assert -1 < low < 0 < high < 1
    svg = dot_plot([*lines, terrible], "improvement", zero=True)
    assert svg.count('class="zero"') == 1
    assert "← −50.00" in svg
