"""Rows of rankings that were computed before."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.stats.comparable import Asked, Comparable, SplitScores
from lockstep_bench.leaderboards.stats.remembered import remembered, remembering

BOARD = SplitScores(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 3.0]), 0.1, False)
BOARDS = Comparable({"energy": BOARD}, ["map", "vifa"], "nmll", "low", "map", [], ["map", "vifa"])


def test_known_rows_are_not_computed_again():
    calls = []

    def compute(boards, asked):
        calls.append(boards.digest())
        return [len(calls)]

    with remembering({}) as used:
        assert [remembered(compute, BOARDS, Asked()) for _ in range(2)] == [[1], [1]]
    with remembering(used) as again:
        assert remembered(compute, BOARDS._replace(notes=["a note"]), Asked()) == [1]
        assert remembered(compute, BOARDS, Asked(tests=False)) == [2]
    assert len(again) == 2
    assert remembered(compute, BOARDS, Asked()) == [3]  # outside, everything is computed


@pytest.mark.parametrize(
    "other",
    [
        BOARDS._replace(metric="rmse"),
        BOARDS._replace(methods=["map", "mfvi"]),
        BOARDS._replace(placed=["map"]),
        BOARDS._replace(fewer=True),
        BOARDS._replace(by_dataset={"energy": BOARD._replace(ratio=0.2)}),
        BOARDS._replace(by_dataset={"energy": BOARD._replace(scores=BOARD.scores + 1e-15)}),
        BOARDS._replace(by_dataset={"energy": BOARD._replace(reference=BOARD.reference * 2)}),
    ],
)
def test_digest_depends_on_all_that_rows_depend_on(other):
    assert other.digest() != BOARDS.digest()
