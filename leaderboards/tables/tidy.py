"""Means over splits as a tidy table (one row per number), for other programs."""

import pandas as pd

from lockstep_bench.leaderboards.stats.summary import GROUP, summarise, with_labelled_presets

COLUMNS = [
    *("suite", "dataset", "method", "preset", "metric", "mean", "stderr", "median", "worst", "worst_split"),
    *("by_median", "n", "n_failed", "remark"),
]


def tidy(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per suite, data set, method, preset and metric, with columns named as in `published.csv`.

    `worst` is the value on the worst split. `by_median` is true if methods are ranked by medians, because each split
    leaves out values of another feature. `remark` has facts that a rank does not show (`leaderboards.stats.remarks`).

    A preset that was run under several protocols appears as preset@hash.
    """
    labelled = with_labelled_presets(cells)
    by_category = labelled.astype(dict.fromkeys([*GROUP, "status"], "category"))  # faster to compare and to group
    return tidied(summarise(by_category))


def tidied(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the table that `tidy` returns, from the summary of the result rows (`summary.summarise`)."""
    return summary[COLUMNS].astype(dict.fromkeys([*GROUP, "metric"], "str"))
