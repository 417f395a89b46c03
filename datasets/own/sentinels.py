"""Detection of numbers such as -999 that stand for missing values.

Such a number is in more than one per cent of the rows. Its distance to all other numbers of the column is larger than
their range, or it is the only negative number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SENTINELS = (-999, -9999, -99999, 999, 9999, 99999)
LEAST_SHARE = 0.01  # of a column's rows


def doubts_about_sentinels(name: str, cells: pd.Series) -> list[str]:
    """Return a warning if numbers (N,) of a column are likely to stand for missing values; else an empty list."""
    others = cells[~cells.isin(SENTINELS)].dropna()
    if others.nunique() < 2:
        return []
    low, high = float(others.min()), float(others.max())
    counts = {number: int((cells == number).sum()) for number in SENTINELS if _is_far(number, low, high)}
    likely = {number: count for number, count in counts.items() if count > max(1, LEAST_SHARE * len(cells))}
    if not likely:
        return []
    where = " and ".join(f"{number} in {count}" for number, count in likely.items())
    return [
        f"column {name!r} has {where} of {len(cells)} rows, and {low:g} to {high:g} in others; give "
        f"--na-values {','.join(map(str, likely))} if these values are missing"
    ]


def _is_far(number: float, low: float, high: float) -> bool:
    """Return whether a number is far outside the range from `low` to `high`."""
    return max(number - high, low - number) > high - low or number < 0 <= low
