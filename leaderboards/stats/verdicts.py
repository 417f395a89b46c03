"""Confidence sets of ranks and a verdict for each method, from significant comparisons of pairs.

If no comparison is false, a method that is significantly worse than j methods and significantly better than k of M has
a true rank from 1 + j to M - k (Mogstad, Romano, Shaikh and Wilhelm 2024). Some comparison is false in at most 5 % of
leaderboards, and so the sets of all methods hold together in 95 %.
"""

import numpy as np

VERDICTS = ("best", "could be best", "worse", "undecided", "failed")
OPEN = ("could be best", "undecided")  # verdicts that more results could change
AHEAD = ("best", "could be best")  # verdicts that pages mark


def rank_sets(worse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and the worst rank (M,) of M methods that significant comparisons leave possible.

    Args:
        worse: booleans (M, M), whether the row's method is significantly worse than the column's.
    """
    return 1 + worse.sum(axis=1), len(worse) - worse.sum(axis=0)


def verdicts(worse: np.ndarray, failed: np.ndarray) -> list[str]:
    """Return the verdict of each of M methods.

    - "worse": significantly worse than some method.
    - "failed": without a value on some split, and not worse.
    - "best": every other method is worse.
    - "could be best": not worse than any method, and better than at least one.
    - "undecided": neither worse nor better than any method. The results leave its place open.

    Args:
        worse: booleans (M, M), whether the row's method is significantly worse than the column's.
        failed: booleans (M,), whether the method has no value on some split.
    """
    loses, wins = worse.any(axis=1), worse.any(axis=0)
    alone = (~loses).sum() == 1
    conditions = [loses, failed, ~loses & alone & wins, wins]
    return [
        str(verdict) for verdict in np.select(conditions, ["worse", "failed", "best", "could be best"], "undecided")
    ]
