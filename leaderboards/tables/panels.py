"""Division of a table that is too large for a page into parts that fit."""

from collections.abc import Callable
from itertools import accumulate

from lockstep_bench.leaderboards.tables.layout import Lines

MOST_CHARACTERS = 110  # of a line; a page that is 345 pt wide shows them at two thirds of its font size
MOST_LINES = 34  # beside the caption
BETWEEN_COLUMNS = 3  # characters


def panels(lines: Lines, width: Callable[[str], int]) -> list[Lines]:
    """Return parts of a table that each fit on a page, or the table itself if it fits.

    Every part has the first column. The row of mean ranks is in the parts with the last rows.

    Args:
        lines: the whole table.
        width: function that returns the width of an entry in characters.
    """
    groups = _spread(len(lines.body), -(-len(lines.body) // MOST_LINES))
    parts = []
    for number, rows in enumerate(groups, 1):
        foot = lines.foot if number == len(groups) else None
        for columns in _columns(lines, width):
            body = [[lines.body[row][column] for column in columns] for row in rows]
            parts.append(Lines([lines.head[column] for column in columns], body, foot and [foot[c] for c in columns]))
    return parts


def _columns(lines: Lines, width: Callable[[str], int]) -> list[list[int]]:
    """Return the columns of each part from left to right, the first column in each."""
    rows = [lines.head, *lines.body, *([lines.foot] if lines.foot else [])]
    first, *others = [max(map(width, column)) + BETWEEN_COLUMNS for column in zip(*rows, strict=True)]
    n_parts = 1
    while True:
        groups = _spread(len(others), n_parts)
        fit = all(first + sum(others[column] for column in group) <= MOST_CHARACTERS for group in groups)
        if fit or n_parts >= len(others):
            return [[0, *(column + 1 for column in group)] for group in groups]
        n_parts += 1


def _spread(n: int, n_groups: int) -> list[range]:
    """Return the numbers below n in consecutive groups whose sizes differ by one at most."""
    sizes = [n // n_groups + (group < n % n_groups) for group in range(n_groups)]
    ends = list(accumulate(sizes))
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]
