"""Groups of methods that were run on the same splits of a data set.

Methods are compared within groups, so that a method that was run on few splits does not remove splits from the others.
"""

from typing import NamedTuple

import numpy as np

from lockstep_bench.leaderboards.stats.paired import Paired
from lockstep_bench.leaderboards.wording.formats import counted


class Extent(NamedTuple):
    """Methods that were run on the same splits of a data set.

    Attributes:
        methods: their names.
        table: values on these splits of `methods`, and of all methods that were run on these and further splits.
        notes: sentences on splits without any value, and on which methods those with fewer splits are compared with.
    """

    methods: list[str]
    table: Paired
    notes: list[str]


def extents(table: Paired) -> list[Extent]:
    """Return the groups of methods that were run on the same splits, the group with the most splits first.

    Splits on which no method has a value are left out first, and so are methods that were run on no other splits. Among
    groups with equally many splits, the one with the most methods comes first.

    Args:
        table: values on one data set.
    """
    known = table.observed.notna().to_numpy().any(axis=1)
    if not known.any():
        return []
    observed, tried = table.observed[known], table.tried[known]
    patterns, group = np.unique(tried.to_numpy(bool), axis=1, return_inverse=True)
    groups = [(splits, np.flatnonzero(group.ravel() == place)) for place, splits in enumerate(patterns.T)]
    groups.sort(key=lambda pair: (-pair[0].sum(), -len(pair[1]), pair[1][0]))
    made: list[Extent] = []
    for splits, members in groups:
        if not splits.any():
            continue
        shared = tried[splits].all(axis=0)
        part = table._replace(observed=observed.loc[splits, shared], tried=tried.loc[splits, shared])
        methods = [table.methods[place] for place in members]
        notes = [_fewer(len(methods), part, made[0].table)] if made else _without_value(int((~known).sum()))
        made.append(Extent(methods, part, notes))
    return made


def _fewer(n_methods: int, part: Paired, most: Paired) -> str:
    one = n_methods == 1
    return (
        f"{counted(n_methods, 'method')} {'was' if one else 'were'} run on {len(part.observed)} of "
        f"{counted(len(most.observed), 'split')}, and {'is' if one else 'are'} compared on these with all methods "
        f"that were run on them, {len(part.methods)} in number."
    )


def _without_value(n_splits: int) -> list[str]:
    return [f"{counted(n_splits, 'split')} left out, on which no method has a value."] if n_splits else []
