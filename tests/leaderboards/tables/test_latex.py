"""Names in LaTeX tables."""

import pytest

from leaderboards.tables.latex import escaped


@pytest.mark.parametrize(("name", "written"), [("[2ex]", "{[}2ex]"), ("*", "{*}"), ("a[2]*", "a[2]*")])
def test_names_are_no_options_of_the_line_above(name, written):
    assert escaped(name) == written
