"""Groups of equal rows, and splits that keep each group on one side."""

from collections.abc import Sequence

import numpy as np

from lockstep_bench.datasets.records import Split


def group_numbers(rows: np.ndarray) -> np.ndarray:
    """Return the number of each row's group, (N,): equal rows of `rows` (N, P) share one, counted by first row."""
    numbers: dict[bytes, int] = {}
    values = np.ascontiguousarray(rows + 0.0)  # makes -0.0 equal to 0.0
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in values])


def grouped_splits(groups: np.ndarray, published: Sequence[Split]) -> tuple[Split, ...]:
    """Return splits in which no row of a test part is in the group of a training row.

    As in the published splits, every row is in the test part of exactly one split. Groups are placed whole, the largest
    first, and by their first row among groups of one size: each goes to the test part that lacks the most rows of its
    published number, and to the first of several such parts. Rows that are alone in their group come last, and stay in
    their published test part as long as that lacks rows.

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
