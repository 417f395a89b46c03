"""The dot plot."""

import re

import numpy as np

from leaderboards.figures import DotRow, dot_plot, scale

GOOD = DotRow("vifa", [2.4, 2.5, 2.6], 2.5, 0.06, [(2.53, 0.02)])


def test_a_terrible_method_does_not_stretch_the_axis():
    terrible = DotRow("slang", [], np.nan, np.nan, [(21300000.0, 20100000.0)])
    _, high = scale([GOOD, GOOD, terrible])
    assert high < 3
    assert "→ 2.13 × 10⁷" in dot_plot([GOOD, GOOD, terrible], "NMLL", "p0")


def test_the_best_method_is_never_cut_off():
    low, _ = scale([GOOD, GOOD, GOOD, DotRow("best", [-50.0], -50.0, np.nan, [])])
    assert low < -50


def test_infinite_values_stand_off_the_scale():
    svg = dot_plot([GOOD, DotRow("map", [2.4, np.inf], np.inf, np.nan, [])], "NMLL", "p0")
    assert "→ ∞" in svg
    assert "nan" not in svg.lower()


def test_one_value_or_none_that_is_finite_still_gives_a_plot():
    assert "<svg" in dot_plot([DotRow("map", [2.0], 2.0, np.nan, [])], "NMLL", "p0")
    assert "<svg" in dot_plot([DotRow("map", [np.inf], np.inf, np.nan, [])], "NMLL", "p0")


def test_forty_methods_fit_on_a_screen():
    """Heights are in points, 72 to the inch."""
    heights = []
    for n in (12, 40):
        svg = dot_plot([GOOD._replace(label=f"method {i}") for i in range(n)], "NMLL", "p0")
        heights.append(float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg)[1]))
        assert all(f">method {i}<" in svg for i in range(n))
    assert heights[0] < heights[1] < 750


def test_two_plots_of_a_page_share_no_id():
    ids = [set(re.findall(r'\bid="([^"]+)"', dot_plot([GOOD], "NMLL", key))) for key in ("p0", "p1")]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_labels_are_text_not_mathematics_nor_markup():
    svg = dot_plot([GOOD._replace(label="$x_1$ <b>")], "NMLL", "p0")
    assert "$x_1$ &lt;b&gt;" in svg


def test_places_are_told_to_hundredths_of_a_point():
    svg = dot_plot([GOOD], "NMLL", "p0")
    assert re.search(r' d="M \d+\.\d\d ', svg)
    assert not re.search(r'\b(?:d|x|y|transform)="[^"]*\.\d{3}', svg)
