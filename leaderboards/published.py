"""Numbers of the papers, for "published versus measured".

`published.csv` has one row per number: source (a title to cite), table, suite, dataset, method, metric, statistic
("mean" or "median"), value, stderr, n, note.
"""

from math import hypot, nan
from pathlib import Path

import pandas as pd

# Notes of numbers that share a name with ours but are something else.
OTHER_QUANTITY = "not per point|standard deviation|drops eigenvalues"


def read_published() -> pd.DataFrame:
    """All published numbers; `table` and `note` are empty strings where there is none.

    Beside the columns of the file: `comparable`, whether value and stderr are what ours are.
    """
    table = pd.read_csv(Path(__file__).with_name("published.csv")).fillna({"table": "", "note": ""})
    return table.assign(comparable=~table["note"].str.contains(OTHER_QUANTITY))


def difference(mean: float, stderr: float, their_mean: float, their_stderr: float) -> float:
    """(mean - their_mean) / sqrt(stderr^2 + their_stderr^2): ours minus theirs in joint standard errors.

    NaN where a standard error is unknown or both are 0.
    """
    joint = hypot(stderr, their_stderr)
    return (mean - their_mean) / joint if joint else nan
