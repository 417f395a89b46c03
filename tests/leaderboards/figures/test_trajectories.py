"""Lines of scores against seconds are named at their ends."""

import re
from itertools import pairwise

import pandas as pd
import pytest

from lockstep_bench.leaderboards.figures.trajectories import trajectories

METHODS = ["map", "mfvi", "swag", "vifa", "mile", "hmc"]


def figure(*scores: float) -> str:
    rows = [(method, seconds, score) for method, score in zip(METHODS, scores, strict=True) for seconds in (1, 10)]
    points = pd.DataFrame(rows, columns=["method", "seconds", "score"])
    return str(trajectories(points, METHODS, "yacht", "NMLL", "key"))


def heights(svg: str) -> list[float]:
    """Heights of the names at the ends of lines, in points from the top."""
    found = {name: re.search(rf"<text[^>]*>{name}</text>", svg) for name in METHODS}
    return [float(re.search(r'y="([\d.]+)"', match[0])[1]) for match in found.values() if match]


def test_every_methods_line_has_a_point_per_budget():
    svg = figure(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert len(heights(svg)) == 6
    assert "yacht" in svg


def test_labels_of_equal_scores_do_not_overlap():
    for scores in ((1.0,) * 6, (1.0, 1.01, 1.02, 1.03, 9.0, 9.01)):
        ordered = sorted(heights(figure(*scores)))
        assert all(below - above >= 8 for above, below in pairwise(ordered))


def test_labels_stand_around_their_scores_and_inside_the_figure():
    alike = heights(figure(5.0, 5.0, 5.0, 5.0, 5.0, 5.0))
    between = heights(figure(1.0, 3.0, 5.0, 5.0, 7.0, 9.0))
    assert sum(between[2:4]) == pytest.approx(between[0] + between[5], abs=0.2)
    assert all(0 < height < 2.8 * 72 for height in (*alike, *between))


def test_outlying_score_does_not_compress_the_axis():
    near, far = (sorted(heights(figure(1.0, 1.2, 1.4, 1.6, 1.8, worst))) for worst in (2.0, 1000.0))
    assert far[-1] - far[1] > 0.5 * (near[-1] - near[1])
