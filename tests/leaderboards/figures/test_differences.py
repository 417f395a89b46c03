"""Figures of differences from published numbers."""

import re

from lockstep_bench.leaderboards.figures.differences import Difference, differences


def test_each_difference_is_a_dot_at_its_value():
    drawn = differences([("vifa", [Difference(0.0, False, "a"), Difference(3.0, True, "b<")]), ("map", [])])
    dots = re.findall(r'<circle class="(\w+)" cx="([\d.]+)%" cy="([\d.]+)"', drawn)
    assert dots == [("mean", "50.00", "11.0"), ("differs", f"{50 + 50 * 3 / 3.24:.2f}", "11.0")]
    assert "<title>b&lt;</title>" in drawn


def test_shaded_band_covers_two_standard_errors():
    drawn = differences([("vifa", [Difference(1.0, False, "a")])])  # the axis is from -3 to 3
    assert re.search(r'class="band" x="16.67%" width="66.67%"', drawn)


def test_outlying_differences_are_printed_at_the_edge():
    far = [Difference(value, True, "x") for value in (-40.0, 25.0, 30.0)]
    drawn = differences([("vifa", [*far, Difference(1.0, False, "a")])])
    assert drawn.count("<circle") == 1
    assert "← −40, → 30, 1 more" in drawn
