"""Sets of ranks and verdicts from comparisons of pairs."""

import numpy as np
import pytest

from lockstep_bench.leaderboards.stats.verdicts import rank_sets, verdicts

NONE_FAILED = np.zeros(3, bool)


def comparisons(*pairs, n: int = 3) -> np.ndarray:
    worse = np.zeros((n, n), bool)
    for loser, winner in pairs:
        worse[loser, winner] = True
    return worse


def test_rank_sets_follow_from_significant_pairs():
    low, high = rank_sets(comparisons((2, 0), (2, 1)))
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ((), ["undecided"] * 3),
        (((2, 0),), ["could be best", "undecided", "worse"]),
        (((1, 0), (2, 0)), ["best", "worse", "worse"]),
        (((2, 0), (2, 1)), ["could be best", "could be best", "worse"]),
    ],
)
def test_verdicts_follow_from_pairwise_comparisons(pairs, expected):
    assert verdicts(comparisons(*pairs), NONE_FAILED) == expected


def test_failed_method_never_gets_the_verdict_best():
    failed = np.array([True, False, True])
    assert verdicts(comparisons((1, 0), (2, 0)), failed) == ["failed", "worse", "worse"]
    assert verdicts(comparisons(), failed) == ["failed", "undecided", "failed"]


def test_single_method_gets_the_verdict_undecided():
    assert verdicts(comparisons(n=1), np.zeros(1, bool)) == ["undecided"]
