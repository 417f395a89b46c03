"""Panels: positions of marks, and texts."""

import re

import numpy as np

from lockstep_bench.leaderboards.figures.panels import HEIGHT, SIDE, PanelScale, note, panels

SCALE = PanelScale((100.0, 50.0), (0.0, 2.0))


def test_axis_ends_map_to_the_panels_corners():
    assert SCALE.points(np.array([100.0, 50.0, 75.0]), np.array([0.0, 2.0, 1.0])) == [
        f"0.0 {HEIGHT:.1f}",
        f"{SIDE:.1f} 0.0",
        f"{SIDE / 2:.1f} {HEIGHT / 2:.1f}",
    ]


def test_band_fills_the_area_between_two_lines():
    (path,) = re.findall('d="M([^"]+)z"', PanelScale((0, 1), (0, 1)).band([0, 1], [0, 0.5], [1, 0.75], "ours"))
    places = [tuple(map(float, point.split())) for point in path.split("L")]
    assert places == [(0, HEIGHT), (SIDE, HEIGHT / 2), (SIDE, HEIGHT / 4), (0, 0)]


def test_nan_points_are_omitted_and_infinities_clipped():
    assert len(SCALE.points(np.array([60.0, np.nan]), np.array([1e300, 1.0]))) == 1
    assert "inf" not in SCALE.line([60.0, 70.0], [np.inf, 1.0], "ours")


def test_panel_texts_are_escaped_and_axes_labelled():
    words, legend = ("% kept", "<u>"), [("line", "<s>")]
    drawn = panels(["<b>"], lambda _: [note("<i>", 0.1)], SCALE, ((100, 50), (0, 2)), words, legend)
    assert all(f"&lt;{tag}&gt;" in drawn for tag in "bius")
    assert "upwards: &lt;u&gt;; to the right: % kept" in drawn
    assert [">100<" in drawn, ">50<" in drawn, ">2<" in drawn] == [True] * 3
