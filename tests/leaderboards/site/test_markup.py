"""Pieces of pages that are written in Python."""

from lockstep_bench.leaderboards.site.markup import breakable


def test_names_break_before_their_options():
    assert breakable("mfvi(mean_network=true)") == "mfvi<wbr>(mean_network=<wbr>true)"
    assert breakable("inducing-ffg(size=5)") == "inducing-ffg<wbr>(size=5)"
    assert breakable("swag") == "swag"


def test_names_with_breaks_are_escaped():
    assert breakable("<b>(a=<i>)\N{RIGHT-TO-LEFT OVERRIDE}") == r"&lt;b&gt;<wbr>(a=&lt;i&gt;)\u202e"
