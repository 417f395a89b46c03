"""Standings of methods in one suite and preset by one metric, over all its data sets."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from leaderboards.stats import (
    CompleteBlocks,
    Paired,
    Ranking,
    Relative,
    Wins,
    complete_blocks,
    mean_ranks,
    paired,
    ranks,
    relative,
    win_rates,
)
from leaderboards.stats.relative import REFERENCE
from leaderboards.wording.formats import not_nothing, number, visible

NAN = float("nan")
BEST = ("best", "could be best")  # verdicts that have a mark


class Standing(NamedTuple):
    """One method's row in a table of standings.

    Attributes:
        rank: mean rank over data sets.
        rank_low: lower end of its 95 % interval.
        rank_high: upper end of its 95 % interval.
        behind: whether its mean rank is significantly worse than the best.
        n_best: number of data sets where it is or could be the best (`placing.verdicts`).
        n_datasets: number of data sets that were ranked.
        wins: mean win rate against the other methods.
        change: improvement over the reference; NaN for the reference, or without one.
        change_low: lower end of its 95 % interval.
        change_high: upper end of its 95 % interval.
        complete_rank: mean rank over the data sets that every method finished; NaN without any.
        n_failed: number of data sets where it has the last ranks because it failed.
        n_not_run: number of data sets where it has the last ranks because it was not run.
    """

    rank: float
    rank_low: float
    rank_high: float
    behind: bool
    n_best: int
    n_datasets: int
    wins: float
    change: float
    change_low: float
    change_high: float
    complete_rank: float
    n_failed: int
    n_not_run: int


class Standings(NamedTuple):
    """Standings of all methods by one metric.

    Attributes:
        by_method: standing of each method, the best mean rank first.
        table: the values that the standings are computed from.
        ranks: a row per data set and method, with columns dataset, method, rank and verdict.
        tested: whether some method is significantly worse than another one on some data set.
        complete: the data sets that every method finished.
        wins: win rates of all pairs.
        relative: improvements over the reference; None without a reference.
    """

    by_method: dict[str, Standing]
    table: Paired
    ranks: pd.DataFrame
    tested: bool
    complete: CompleteBlocks
    wins: Wins
    relative: Relative | None

    @property
    def reference(self) -> str:
        """Name of the method that `change` refers to; "" without one."""
        return self.relative.reference if self.relative else ""

    @property
    def n_datasets(self) -> int:
        """Number of data sets that methods were ranked on."""
        return self.ranks["dataset"].nunique()

    def top(self, n: int) -> list[tuple[str, Standing]]:
        """Return the first n methods and their standings."""
        return list(self.by_method.items())[:n]

    @property
    def complete_in_words(self) -> str:
        """A sentence on the data sets that some method did not finish, and why; "" if there are none."""
        left_out = self.complete.left_out
        if not left_out:
            return ""
        n = len(self.complete.table.datasets)
        reasons = "; ".join(f"{visible(name)} ({visible(reason)})" for name, reason in left_out.items())
        return f"Every method finished {n} of the {n + len(left_out)} data sets. The others: {reasons}."


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
    table = paired(cells, suite, preset, metric)
    complete = complete_blocks(table)
    ranked, wins = _with_verdicts(ranks(table), rankings), win_rates(table)
    overall = mean_ranks(table).set_index("method")
    n_best = ranked["verdict"].isin(BEST).groupby(ranked["method"]).sum()
    complete_rank = ranked[ranked["dataset"].isin(complete.table.datasets)].groupby("method")["rank"].mean()
    improvement = relative(table) if REFERENCE in table.methods and len(table.methods) > 1 else None
    changes = improvement.overall.set_index("method").to_dict("index") if improvement else {}
    by_method = {}
    for label, row in overall.iterrows():
        method = str(label)
        change = changes.get(method, {})
        by_method[method] = Standing(
            row["mean_rank"],
            row["low"],
            row["high"],
            bool(row["behind"]),
            int(n_best[method]),
            int(row["n_datasets"]),
            float(wins.overall[method]),
            float(change.get("improvement", NAN)),
            float(change.get("low", NAN)),
            float(change.get("high", NAN)),
            float(complete_rank.get(method, NAN)),
            int(row["n_failed"]),
            int(row["n_not_run"]),
        )
    tested = bool((ranked["verdict"] == "worse").any())
    return Standings(by_method, table, ranked, tested, complete, wins, improvement)


def _with_verdicts(ranked: pd.DataFrame, rankings: Mapping[str, Ranking]) -> pd.DataFrame:
    """Return the ranks with a column `verdict`: one of `placing.VERDICTS`, or "" for a method that is not ranked."""
    by_cell = {(dataset, row.method): row.verdict for dataset, ranking in rankings.items() for row in ranking.rows}
    pairs = zip(ranked["dataset"], ranked["method"], strict=True)
    return ranked.assign(verdict=[by_cell.get(pair, "") for pair in pairs])


def change_in_words(value: float, unit: str) -> str:
    """Return a change relative to the reference as printed: "× 0.97", "+0.012"."""
    if unit == "times":
        return f"× {not_nothing(value, 3 if value < 10 else 1)}"
    text = number(value, 3)
    return text if value <= 0 or text in ("–", "∞") else f"+{text}"
