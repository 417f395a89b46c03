"""The random draw of the stored results that a recheck repeats."""

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.data.fingerprints import CELL
from lockstep_bench.leaderboards.data.rechecks import can_be_drawn

LONGEST_SECONDS = 300  # of tuning and final fit; a recheck is to be a matter of minutes


def population(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a recheck may draw: the latest row of each result, in an order independent of the files.

    Left out are results that did not finish, those of old versions of the training code, and those that took longer
    than `LONGEST_SECONDS`.

    Args:
        rows: columns of `shared.schema.CELLS`, with the times as they were recorded.
    """
    seconds = rows[["tune_seconds", "fit_seconds"]].sum(axis=1)
    usable = rows[can_be_drawn(rows) & (seconds <= LONGEST_SECONDS)]
    latest = usable.sort_values("finished_at", kind="stable").drop_duplicates(CELL, keep="last")
    return latest.sort_values(CELL, ignore_index=True)


def drawn(rows: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Return `n` random rows, or all if there are fewer: from each suite in turn, of a random preset of the suite.

    Suites are trained by different code (stacks of small networks, single large networks, streams), and a uniform draw
    would rarely take rows of the smaller suites.

    Args:
        rows: result of `population`.
        n: number of rows.
        seed: seed of the draw.
    """
    rng = np.random.default_rng(seed)
    left = rows
    chosen: list[int] = []
    while len(chosen) < n and len(left):
        for suite in rng.permutation(sorted(left["suite"].unique()))[: n - len(chosen)]:
            presets = left.loc[left["suite"] == suite, "preset"]
            place = rng.choice(presets.index[presets == rng.choice(sorted(presets.unique()))])
            chosen.append(place)
            left = left.drop(index=place)
    return rows.loc[chosen]
