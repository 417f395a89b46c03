"""The summary as a tidy table (one row per number), for other programs."""

import pandas as pd

from leaderboards.stats.summary import summarise, with_labelled_presets

COLUMNS = ["suite", "dataset", "method", "preset", "metric", "mean", "stderr", "median", "n", "n_failed", "remark"]


def tidy(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per suite, data set, method, preset and metric, with columns named as in `published.csv`.

    `remark` says what a number's rank does not (`leaderboards.stats.remarks`); it is empty for most.

    A preset that was run under several protocols appears as preset@hash.
    """
    return summarise(with_labelled_presets(cells))[COLUMNS]
