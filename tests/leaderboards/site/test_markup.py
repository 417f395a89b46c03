"""Pieces of pages that are written in Python."""

from lockstep_bench.leaderboards.site.markup import breakable, cells
from lockstep_bench.leaderboards.tables.cells import BoardCell


def test_names_break_before_their_options():
    assert breakable("mfvi(mean_network=true)") == "mfvi<wbr>(mean_network=<wbr>true)"
    assert breakable("inducing-ffg(size=5)") == "inducing-ffg<wbr>(size=5)"
    assert breakable("swag") == "swag"


def test_names_with_breaks_are_escaped():
    assert breakable("<b>(a=<i>)\N{RIGHT-TO-LEFT OVERRIDE}") == r"&lt;b&gt;<wbr>(a=&lt;i&gt;)\u202e"


def test_cells_of_a_method_follow_the_data_sets():
    entries = {"yacht": (BoardCell("1.2", "0.1", outlier="median 2, one split 9"), "2 failed")}
    absent, measured = cells(entries, "map", "nmll", ["wine", "yacht"], "map-here", plain=False).split("\n")
    assert absent == '<td><span class="hidden">not run</span><span class="se" aria-hidden="true">–</span></td>'
    assert 'href="dataset-yacht.html#map-here"' in measured
    assert '<span class="second failed">2 failed</span><span class="second">median 2<br>one split 9</span>' in measured
    assert "href" not in cells(entries, "map", "nmll", ["yacht"], "map-here", plain=True)
