"""Standings: the overall ranking of methods in one suite and preset by one metric, over all data sets."""

from collections.abc import Mapping
from typing import NamedTuple

from lockstep_bench.leaderboards.stats import Paired, Ranked, Ranking, Wins, win_rates
from lockstep_bench.leaderboards.stats.ranking import rank_runs
from lockstep_bench.leaderboards.stats.runs import Runs
from lockstep_bench.leaderboards.stats.verdicts import AHEAD
from lockstep_bench.methods import is_ranked


class Standing(NamedTuple):
    """One method's row in a table of standings.

    Attributes:
        place: row of the ranking over data sets, in which one method represents each family of variants; None if
            another variant represents this one. All pages take mean ranks and verdicts from this row.
        change: row with the difference to the reference, computed on the same splits of the same data sets.
        representative: the method that represents its family.
        n_best: number of data sets on which the method is or could be the best (`verdicts.verdicts`).
        n_datasets: number of data sets on which the method was compared with others.
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
        by_method: standing of each method that was run on all compared splits: first the method that represents each
            family, by mean rank, then the other variants.
        families: ranking over data sets of one method of each family.
        on_datasets: ranking of all methods on each data set.
        places: rows of these rankings, by method and data set.
        table: values of the metric from which the standings are computed.
        tested: whether any method is significantly worse than another one on any data set.
        wins: win rates of all pairs of methods.
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
        """Name of the method that differences refer to; "" if there is none, or if it is the only method."""
        return self.families.reference if len(self.by_method) > 1 else ""

    @property
    def unit(self) -> str:
        """Unit of differences (`Ranking.unit`)."""
        return self.families.unit

    @property
    def better(self) -> str:
        """Explanation of the sign of differences to the reference: which sign means better."""
        return "above 0 is better" if self.table.goal == "high" else "below 0 is better"

    @property
    def changes(self) -> dict[str, Ranked]:
        """Row with the difference to the reference, for each method."""
        return {method: standing.change for method, standing in self.by_method.items()}

    def top(self, n: int) -> list[Ranked]:
        """Return the rows of the n best methods, each of a different family."""
        return self.families.rows[:n]


def standings_of(runs: Runs, metric: str, rankings: Mapping[str, Ranking]) -> Standings:
    """Return the standings of methods by a metric, which must have a direction in which it is better.

    Args:
        runs: runs of one suite and preset.
        metric: name of the metric.
        rankings: ranking of all methods by this metric, for each data set.
    """
    table = runs.chosen(methods=[name for name in runs.names[2] if is_ranked(name)]).table(metric)
    wins = win_rates(table)
    families = rank_runs(runs, metric)
    represented = {row.family: row.method for row in families.rows}
    variants = _variants(runs, table, families)
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


def _variants(runs: Runs, table: Paired, families: Ranking) -> list[Ranked]:
    """Return rows of the other methods that were run on all splits on which one method of each family is compared.

    Pages show the differences of these rows to the reference, so that nothing is tested over data sets.
    """
    names = [row.method for row in families.rows]
    tried = table.tried[table.tried.index.isin(families.datasets, level="dataset")]
    shared = tried[tried[names].all(axis=1)]
    others = [str(method) for method in shared if method not in names and shared[method].all()] if names else []
    if not others:
        return []
    everyone = rank_runs(runs, table.metric, methods=[*names, *others], datasets=families.datasets, tests=False)
    return [row for row in everyone.rows if row.method in others]
