"""Standings of methods in one suite and preset by one metric, over all its data sets."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lockstep_bench.leaderboards.stats import Paired, Ranked, Ranking, Wins, paired, rank, win_rates
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.methods import UNRANKED


class Standing(NamedTuple):
    """One method's row in a table of standings.

    Attributes:
        place: its row of the ranking over data sets, among one method of each family; None for a variant that another
            one represents. Every page has a method's mean rank and verdict from here.
        change: the row with its difference to the reference, on the same splits of the same data sets.
        representative: the method that represents its family.
        n_best: number of data sets where it is or could be the best (`verdicts.verdicts`).
        n_datasets: number of data sets on which it was compared with others.
        wins: mean win rate against the other methods.
    """

    place: Ranked | None
    change: Ranked
    representative: str
    n_best: int
    n_datasets: int
    wins: float


class Standings(NamedTuple):
    """Standings of all methods by one metric.

    Attributes:
        by_method: standing of each method that was run wherever the families are compared: one of each family, the best
            mean rank first, then the variants that these represent.
        families: ranking over data sets of one method of each family.
        on_datasets: rankings of all methods, by data set.
        places: each method's rows of these, by method and data set.
        table: the values that the standings are computed from.
        tested: whether some method is significantly worse than another one on some data set.
        wins: win rates of all pairs.
    """

    by_method: dict[str, Standing]
    families: Ranking
    on_datasets: Mapping[str, Ranking]
    places: Mapping[str, Mapping[str, Ranked]]
    table: Paired
    tested: bool
    wins: Wins

    @property
    def reference(self) -> str:
        """Name of the method that differences refer to; "" without one, or without another method."""
        return self.families.reference if len(self.by_method) > 1 else ""

    @property
    def unit(self) -> str:
        """Unit of differences (`Ranking.unit`)."""
        return self.families.unit

    @property
    def better(self) -> str:
        """Meaning of the sign of differences to the reference, in words."""
        return "above 0 is better" if self.table.goal == "high" else "below 0 is better"

    @property
    def changes(self) -> dict[str, Ranked]:
        """Rows with the difference to the reference, by method."""
        return {method: standing.change for method, standing in self.by_method.items()}

    def top(self, n: int) -> list[Ranked]:
        """Return the first n methods of different families."""
        return self.families.rows[:n]


def standings_of(
    cells: pd.DataFrame, suite: str, preset: str, metric: str, rankings: Mapping[str, Ranking]
) -> Standings:
    """Return the standings by a metric, which must have a direction in which it is better.

    Args:
        cells: cells with labelled presets.
        suite: name of the suite.
        preset: label of the preset.
        metric: name of the metric.
        rankings: ranking of all methods by this metric, for each data set.
    """
    table = paired(cells[~cells["method"].isin(UNRANKED)], suite, preset, metric)
    wins = win_rates(table)
    families = rank(cells, suite, preset, metric)
    represented = {row.family: row.method for row in families.rows}
    variants = _variants(cells, table, families)
    places: dict[str, dict[str, Ranked]] = {}
    for dataset, ranking in rankings.items():
        for row in ranking.all_rows:
            places.setdefault(row.method, {})[dataset] = row
    by_method = {}
    for row in [*families.rows, *variants]:
        place = row if represented.get(row.family) == row.method else None
        here = places.get(row.method, {}).values()
        n_best = sum(at.verdict in AHEAD for at in here)
        overall = float(wins.overall[row.method])
        by_method[row.method] = Standing(place, row, represented.get(row.family, ""), n_best, len(here), overall)
    tested = any(row.verdict == "worse" for here in places.values() for row in here.values())
    return Standings(by_method, families, rankings, places, table, tested, wins)


def _variants(cells: pd.DataFrame, table: Paired, families: Ranking) -> list[Ranked]:
    """Return rows of the other methods that were run on all splits on which one method of each family is compared."""
    names = [row.method for row in families.rows]
    tried = table.tried[table.tried.index.isin(families.datasets, level="dataset")]
    shared = tried[tried[names].all(axis=1)]
    others = [str(method) for method in shared if method not in names and shared[method].all()] if names else []
    if not others:
        return []
    everyone = rank(
        cells, table.suite, table.preset, table.metric, methods=[*names, *others], datasets=families.datasets
    )
    return [row for row in everyone.rows if row.method in others]
