"""Groups of equal rows, and splits that put all rows of a group into the same part, training or test."""

from collections.abc import Sequence

import numpy as np

from lockstep_bench.datasets.records import Split


def group_numbers(rows: np.ndarray) -> np.ndarray:
    """Return the group number of each row of `rows` (N, P), (N,). Equal rows form a group.

    Groups are numbered in the order of their first rows.
    """
    numbers: dict[bytes, int] = {}
    values = np.ascontiguousarray(rows + 0.0)  # makes -0.0 equal to 0.0
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in values])


def grouped_splits(groups: np.ndarray, published: Sequence[Split]) -> tuple[Split, ...]:
    """Return splits in which no test row belongs to the group of a training row.

    As in the published splits, every row is a test row in exactly one split. Groups are assigned to test parts as a
    whole, the largest group first, and groups of equal size in the order of their first rows. Each group goes to the
    test part that lacks the most rows of its published size (the first of several). Rows that form a group alone are
    assigned last. They stay in their published test part as long as it lacks rows.

    Args:
        groups: (N,), number of each row's group.
        published: splits whose test parts partition the N rows.
    """
    home = np.empty(len(groups), int)
    for number, split in enumerate(published):
        home[split.test] = number
    lacking, part = np.bincount(home), np.empty_like(home)
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    for rows in sorted(members, key=lambda rows: (-len(rows), rows[0])):
        stays = len(rows) == 1 and lacking[home[rows[0]]] > 0
        part[rows] = place = home[rows[0]] if stays else lacking.argmax()
        lacking[place] -= len(rows)
    return tuple(Split(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(len(published)))
