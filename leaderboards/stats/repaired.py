"""Comparison of the order of methods on a published data set and on its repaired version (same rows, other splits).

The comparison is descriptive, without a test: the two versions have different test rows, so that their means over
splits cannot be compared by a paired test. Splits that are excluded from rankings are included.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.stats.schemes import splits_of
from lockstep_bench.methods import is_ranked

METRIC = "nmll"


class Places(NamedTuple):
    """Scores and ranks of one method on both versions of a data set; ranks are by the mean over splits, from 1.

    Attributes:
        method: name of the method.
        published: mean NMLL on the published splits.
        repaired: mean NMLL on the repaired splits.
        rank_published: rank on the published splits.
        rank_repaired: rank on the repaired splits.
    """

    method: str
    published: float
    repaired: float
    rank_published: int
    rank_repaired: int


class Repair(NamedTuple):
    """The order of methods on both versions of a data set.

    Attributes:
        suite: name of the suite.
        preset: label of the preset.
        published: name of the published data set.
        repaired: name of the repaired data set.
        n_published: number of published splits that were run.
        n_repaired: number of repaired splits that were run.
        places: methods that finished on all these splits, in the order of their ranks on the repaired splits.
        swapped: number of pairs of methods whose order differs between the two versions.
    """

    suite: str
    preset: str
    published: str
    repaired: str
    n_published: int
    n_repaired: int
    places: list[Places]
    swapped: int

    @property
    def n_pairs(self) -> int:
        """Number of pairs of methods."""
        return len(self.places) * (len(self.places) - 1) // 2


def repairs(cells: pd.DataFrame) -> list[Repair]:
    """Return the comparison for each published data set with a repaired version, if two methods finished on both.

    Args:
        cells: result rows with labelled presets (`summary.with_labelled_presets`).
    """
    found = []
    for (suite, preset), rows in cells.groupby(["suite", "preset"], observed=True):
        names = sorted(map(str, rows["dataset"].unique()))
        for repaired in names:
            published = splits_of(repaired).rows_of
            if published in names:
                tables = [_scores(rows[rows["dataset"] == name]) for name in (published, repaired)]
                found.append(_repair((str(suite), str(preset), published, repaired), *tables))
    return [repair for repair in found if len(repair.places) > 1]


def _scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Return scores by split and method, means over seeds; NaN where a cell did not finish."""
    ranked = rows["method"].isin([name for name in rows["method"].unique() if is_ranked(name)])
    kept = rows.loc[ranked, ["split", "method", "status", METRIC]].astype({"method": "str"})
    scores = kept.assign(score=kept[METRIC].where(kept["status"] == "ok"))
    return scores.pivot_table("score", "split", "method", aggfunc="mean", dropna=False)


def _repair(names: tuple[str, str, str, str], published: pd.DataFrame, repaired: pd.DataFrame) -> Repair:
    complete = [table.dropna(axis=1).mean() for table in (published, repaired)]
    methods = [name for name in complete[0].index if name in complete[1].index]
    means = np.array([mean[methods] for mean in complete]).reshape(2, -1)
    ranks = np.array([pd.Series(mean).rank(method="min") for mean in means]).reshape(2, -1).astype(int)
    columns = zip(methods, *means.tolist(), *ranks.tolist(), strict=True)
    places = [Places(*column) for column in columns]
    signs = [np.sign(mean[:, None] - mean[None, :]) for mean in means]
    swapped = int(np.count_nonzero(signs[0] * signs[1] < 0)) // 2
    ordered = sorted(places, key=lambda place: (place.rank_repaired, place.rank_published))
    return Repair(*names, len(published), len(repaired), ordered, swapped)
