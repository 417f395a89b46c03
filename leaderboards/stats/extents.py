"""Groups of methods that were run on the same splits of a data set.

Methods are compared within groups, so that a method that was run on few splits does not remove splits from the others.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lockstep_bench.leaderboards.wording.formats import counted


class Extent(NamedTuple):
    """Methods that were run on the same splits of a data set.

    Attributes:
        methods: their names.
        compared: names of all methods that were run on these splits: `methods`, and those that were run on more.
        values: values of the metric on these splits (S, M), a column for each of `compared`.
        splits: numbers of these splits as rows of the table (S,).
        notes: sentences on splits without any value, and on which methods those with fewer splits are compared with.
    """

    methods: list[str]
    compared: list[str]
    values: np.ndarray
    splits: np.ndarray
    notes: list[str]


def extents(methods: Sequence[str], values: np.ndarray, tried: np.ndarray) -> list[Extent]:
    """Return the groups of methods that were run on the same splits, the group with the most splits first.

    Splits on which no method has a value are left out first, and so are methods that were run on no other splits. Among
    groups with equally many splits, the one with the most methods comes first.

    Args:
        methods: names.
        values: values on one data set (S, M), NaN where there is none.
        tried: whether the method was run on the split (S, M).
    """
    known = ~np.isnan(values).all(axis=1)
    if not known.any():
        return []
    patterns, group = np.unique(tried[known], axis=1, return_inverse=True)
    groups = [(splits, np.flatnonzero(group.ravel() == place)) for place, splits in enumerate(patterns.T)]
    groups.sort(key=lambda pair: (-pair[0].sum(), -len(pair[1]), pair[1][0]))
    made: list[Extent] = []
    for pattern, members in groups:
        if not pattern.any():
            continue
        splits = np.flatnonzero(known)[pattern]
        shared = np.flatnonzero(tried[splits].all(axis=0))
        compared = [methods[place] for place in shared.tolist()]
        counts = len(members), len(splits), len(compared)
        notes = _fewer(*counts, len(made[0].splits)) if made else _without_value(int((~known).sum()))
        own = [methods[place] for place in members.tolist()]
        made.append(Extent(own, compared, values[np.ix_(splits, shared)], splits, notes))
    return made


def _fewer(n_methods: int, n_splits: int, n_compared: int, most: int) -> list[str]:
    one = n_methods == 1
    return [
        f"{counted(n_methods, 'method')} {'was' if one else 'were'} run on {n_splits} of {counted(most, 'split')}, and "
        f"{'is' if one else 'are'} compared on these with all methods that were run on them, {n_compared} in number."
    ]


def _without_value(n_splits: int) -> list[str]:
    return [f"{counted(n_splits, 'split')} left out, on which no method has a value."] if n_splits else []
