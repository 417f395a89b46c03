"""Detection of columns that number the rows, or identify them, instead of describing them.

A column of whole numbers looks like row numbers or IDs if at least nine tenths of its numbers differ, and one of these
holds:

- Its name ends in "id".
- The numbers only rise or only fall down the rows. Gaps are allowed, and so are repeated neighbours.
- They are in any order, and at least half of the whole numbers between the smallest and the largest occur. Measured
  numbers would repeat more in so narrow a range.
- They are in any order, in 100 rows or more, and fill their range evenly. Their counts in ten intervals of the same
  width pass a chi-squared test of a uniform distribution at the level 0.001. Prices, populations and most measured
  numbers have more rows in some intervals than in others.

Some inputs are like this too, for example the year in a table with a row for each year. Therefore, the user gets a
warning, not an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

LEAST_DIFFERENT = 0.9  # of a column's numbers
LEAST_DENSE = 0.5  # of the whole numbers in a column's range
N_INTERVALS, LEAST_ROWS, MOST_CHI2 = 10, 100, 27.88  # 0.999 quantile of chi-squared with 9 degrees of freedom


def likeness_to_an_identifier(cells: pd.Series) -> str:
    """Return how a column of numbers looks like row numbers or IDs, as the end of a sentence; "" if it does not.

    Args:
        cells: (N,), numbers; missing values are left out.
    """
    values = cells.dropna().to_numpy(dtype=float)
    if not np.isfinite(values).all() or (values % 1 != 0).any():
        return ""
    n_different = len(np.unique(values))
    if n_different < max(2, LEAST_DIFFERENT * len(values)):
        return ""
    width = values.max() - values.min() + 1
    if width == n_different == len(values):
        return "counts the rows; remove it unless it is an input"
    nearly = "" if n_different == len(values) else "nearly "
    if str(cells.name).lower().endswith("id"):
        return f"has another number in {nearly}each row; remove it if it is an ID"
    steps = np.diff(values)
    if (steps >= 0).all() or (steps <= 0).all():
        way = "increases" if steps.sum() > 0 else "decreases"
        return f"{way} from row to row, like a row number or an ID; remove it unless it is an input"
    if n_different >= LEAST_DENSE * width or _is_even(values):
        return f"has another whole number in {nearly}each row, like an ID; remove it unless it is an input"
    return ""


def _is_even(values: np.ndarray) -> bool:
    """Return whether numbers fill their range evenly, by a chi-squared test."""
    counts = np.histogram(values, N_INTERVALS)[0]
    expected = len(values) / N_INTERVALS
    return len(values) >= LEAST_ROWS and float(((counts - expected) ** 2).sum() / expected) < MOST_CHI2
