"""Standings of methods in one suite and preset by one metric, over all its data sets."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from leaderboards.stats import Paired, Ranked, Ranking, Wins, paired, rank, win_rates
from leaderboards.stats.placing import AHEAD
from methods import UNRANKED


class Standing(NamedTuple):
    """One method's row in a table of standings.

    Attributes:
        place: its row of the ranking over data sets, among all variants.
        n_best: number of data sets where it is or could be the best (`placing.verdicts`).
        n_datasets: number of data sets on which it was compared with others.
        wins: mean win rate against the other methods.
    """

    place: Ranked
    n_best: int
    n_datasets: int
    wins: float


class Standings(NamedTuple):
    """Standings of all methods by one metric.

    Attributes:
        by_method: standing of each method that is ranked, the best mean rank first.
        variants: ranking over data sets of all methods.
        families: ranking over data sets of one method of each family.
        on_datasets: rankings of all methods, by data set.
        places: each method's rows of these, by method and data set.
        table: the values that the standings are computed from.
        tested: whether some method is significantly worse than another one on some data set.
        wins: win rates of all pairs.
    """

    by_method: dict[str, Standing]
    variants: Ranking
    families: Ranking
    on_datasets: Mapping[str, Ranking]
    places: Mapping[str, Mapping[str, Ranked]]
    table: Paired
    tested: bool
    wins: Wins

    @property
    def reference(self) -> str:
        """Name of the method that differences refer to; "" without one, or without another method."""
        return self.variants.reference if len(self.by_method) > 1 else ""

    @property
    def unit(self) -> str:
        """Unit of differences (`Ranking.unit`)."""
        return self.variants.unit

    @property
    def better(self) -> str:
        """Which differences to the reference are better, in words."""
        return "above 0 is better" if self.table.goal == "high" else "below 0 is better"

    def top(self, n: int) -> list[Ranked]:
        """Return the first n methods of different families."""
        return self.families.rows[:n]


def standings_of(
    cells: pd.DataFrame, suite: str, preset: str, metric: str, rankings: Mapping[str, Ranking]
) -> Standings:
    """Return the standings by a metric, which must have a direction in which it is better.

    Args:
        cells: with labelled presets.
        suite: name of the suite.
        preset: label of the preset.
        metric: name of the metric.
        rankings: of all methods by this metric, by data set.
    """
    table = paired(cells[~cells["method"].isin(UNRANKED)], suite, preset, metric)
    wins = win_rates(table)
    variants, families = (rank(cells, suite, preset, metric, families=one_each) for one_each in (False, True))
    places: dict[str, dict[str, Ranked]] = {}
    for dataset, ranking in rankings.items():
        for row in ranking.all_rows:
            places.setdefault(row.method, {})[dataset] = row
    by_method = {}
    for place in variants.rows:
        here = places.get(place.method, {}).values()
        n_best = sum(row.verdict in AHEAD for row in here)
        by_method[place.method] = Standing(place, n_best, len(here), float(wins.overall[place.method]))
    tested = any(row.verdict == "worse" for here in places.values() for row in here.values())
    return Standings(by_method, variants, families, rankings, places, table, tested, wins)
