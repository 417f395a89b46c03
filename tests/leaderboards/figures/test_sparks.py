"""Small multiples on the unit square: titles and lines."""

import re

from lockstep_bench.leaderboards.figures.sparks import LONGEST, LONGEST_NARROW, Panel, grid


def test_long_titles_are_whole_in_smaller_type():
    usual, narrow, cut = "a" * LONGEST, "b" * LONGEST_NARROW, "c" * (LONGEST_NARROW + 1)
    drawn = grid([Panel(title, "", [(0.0, 0.0), (1.0, 1.0)], []) for title in (usual, narrow, cut)])
    titles = re.findall(r'<text( class="narrow")? x="0"[^>]*>([^<]*)<', drawn)
    assert titles == [("", usual), (' class="narrow"', narrow), (' class="narrow"', cut[: LONGEST_NARROW - 1] + "…")]


def test_single_point_is_drawn_as_a_dot():
    dot, line = (grid([Panel("map", "", points, [])]) for points in ([(0.5, 0.5)], [(0.5, 0.5), (1.0, 1.0)]))
    assert re.search('class="line dot ours" d="M[0-9. ]+h0"', dot)
    assert "dot" not in line
