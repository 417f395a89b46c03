"""Lines of scores against seconds are named at their ends."""

import re
from itertools import pairwise

import pandas as pd

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
    ordered = sorted(heights(figure(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)))
    assert all(below - above >= 7 for above, below in pairwise(ordered))


def test_outlying_score_does_not_compress_the_axis():
    near, far = (sorted(heights(figure(1.0, 1.2, 1.4, 1.6, 1.8, worst))) for worst in (2.0, 1000.0))
    assert far[-1] - far[1] > 0.5 * (near[-1] - near[1])
