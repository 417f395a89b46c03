"""Plans that can be worked out by hand."""

from dataclasses import replace

import pytest

from bench.console.forecast import START_SECONDS, Line, lines, makespan
from bench.costs.estimates import EARLIER, GUESSED, PROBED, Estimate
from bench.experiment.cells import Cell
from bench.experiment.protocol import Protocol

CELL = Cell("uci", "yacht", "map", 0, "p", Protocol(), 0)


@pytest.mark.parametrize(
    ("seconds", "slots", "end"),
    [
        ([], 2, 0.0),
        ([3.0], 2, 3.0),
        ([5, 4, 3, 3, 3], 2, 10),  # 5 + 3 + ... : 5, 3 on one; 4, 3, 3 on the other
        ([5, 4, 3, 3, 3], 1, 18),
        ([5, 4, 3, 3, 3], 9, 5),
        ([1, 1, 1, 9], 2, 10),  # the order is kept: whoever wants the longest first puts it first
        ([9, 1, 1, 1], 2, 9),
    ],
)
def test_each_job_goes_to_the_first_free_slot(seconds, slots, end):
    assert makespan(seconds, slots) == (end + START_SECONDS if seconds else 0)


def test_a_line_sums_up_the_jobs_of_a_data_set():
    yacht, boston = CELL, replace(CELL, dataset="boston")
    packs = [(boston,), (yacht, replace(yacht, split=1)), (replace(yacht, method="vifa"),)]
    known = [Estimate(None, None, GUESSED), Estimate(2.0, 50, PROBED), Estimate(3.0, None, EARLIER)]
    assert lines(packs, known) == [
        Line("boston", 1, 1, None, None, ()),
        Line("yacht", 3, 2, 5.0, 50, (EARLIER, PROBED)),
    ]
