"""How methods stand in one suite and preset by one metric, over all its data sets: `leaderboards.stats`, for a page."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from leaderboards.metrics import badness
from leaderboards.stats import (
    Ground,
    Paired,
    Relative,
    Wins,
    common_ground,
    mean_ranks,
    paired,
    relative,
    win_rates,
)
from leaderboards.stats.paired import blocks
from leaderboards.stats.ranks import places
from leaderboards.stats.relative import REFERENCE
from leaderboards.wording.formats import not_nothing, number, visible


class Standing(NamedTuple):
    """One method's line.

    Attributes:
        rank, rank_low, rank_high: mean rank over data sets and its 95 % interval.
        behind: whether its mean rank is behind the best by more than chance.
        first, n_datasets: data sets where it is best or tied, of all that were ranked.
        wins: chance to win against a rival drawn at random.
        change, change_low, change_high: against the reference; NaN for the reference, or without one.
        shared: mean rank on the common ground; NaN where there is none.
        lacking, absent: data sets where it shares the last places, because it failed or was not run.
    """

    rank: float
    rank_low: float
    rank_high: float
    behind: bool
    first: int
    n_datasets: int
    wins: float
    change: float
    change_low: float
    change_high: float
    shared: float
    lacking: int
    absent: int


class Standings(NamedTuple):
    """Attributes:
    lines: by method, the best mean rank first.
    table: the values that all this is about.
    places: a row per data set and method, with its rank and standing.
    told: whether some data set has enough splits to tell ties.
    ground: what every method finished.
    unit: of `change`; see `leaderboards.stats.Relative`.
    """

    lines: dict[str, Standing]
    table: Paired
    places: pd.DataFrame
    told: bool
    ground: Ground
    wins: Wins
    against: Relative | None

    @property
    def reference(self) -> str:
        """What `change` is against; "" if there is nothing."""
        return self.against.reference if self.against else ""

    @property
    def ranked(self) -> int:
        """Data sets that methods were ranked on."""
        return self.places["dataset"].nunique()

    def first(self, n: int) -> list[tuple[str, Standing]]:
        """The first `n` methods."""
        return list(self.lines.items())[:n]

    @property
    def ground_in_words(self) -> str:
        """Which data sets every method finished, and why the others are not among them."""
        left_out = self.ground.left_out
        if not left_out:
            return ""
        n = len(self.ground.table.datasets)
        reasons = "; ".join(f"{visible(name)} ({visible(reason)})" for name, reason in left_out.items())
        return f"Every method finished {n} of the {n + len(left_out)} data sets. Left out of those: {reasons}."


def standings_of(cells: pd.DataFrame, suite: str, preset: str, metric: str, verdicts: pd.DataFrame) -> Standings:
    """The standings by `metric`, which must have a better and a worse.

    `verdicts` are those of `leaderboards.stats.ties.standings` for this suite, preset and metric: told on single
    data sets
    already. To test all pairs of all metrics once more would take most of the time that a site takes.
    """
    table = paired(cells, suite, preset, metric)
    ground = common_ground(table)
    places, wins = _places(table, verdicts), win_rates(table)
    overall = mean_ranks(table, places).set_index("method")
    shared = places[places["dataset"].isin(ground.table.datasets)].groupby("method")["rank"].mean()
    against = relative(table) if REFERENCE in table.methods and len(table.methods) > 1 else None
    change = against.overall.set_index("method") if against else pd.DataFrame()
    lines = {}
    for method, row in overall.iterrows():
        has = change.loc[method] if method in change.index else {}
        lines[method] = Standing(
            row["mean_rank"],
            row["low"],
            row["high"],
            bool(row["behind"]),
            int(row["n_first"]),
            int(row["n_datasets"]),
            float(wins.overall[method]),
            *(float(has.get(name, float("nan"))) for name in ("improvement", "low", "high")),
            float(shared.get(method, float("nan"))),
            int(row["n_lacking"]),
            int(row["n_absent"]),
        )
    told = bool(places["standing"].isin(["tied", "worse"]).any())
    return Standings(lines, table, places, told, ground, wins, against)


def _places(table: Paired, verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per data set and method: rank as in `leaderboards.stats.ranks`, and the standing that `verdicts` tell."""
    found = blocks(table)
    said = {(row.dataset, row.method): row.standing for row in verdicts.itertuples()}
    rows = []
    for dataset, values in found.arrays.items():
        lacking, absent = (frame.loc[dataset].to_numpy() for frame in (found.lacking, found.absent))
        with np.errstate(invalid="ignore"):
            losses = badness(values.mean(axis=0), table.goal)
        ranked = places(losses, ~(lacking | absent))
        for method, rank, lacks, away in zip(table.methods, ranked.tolist(), lacking, absent, strict=True):
            standing = "absent" if away else "lacking" if lacks else said.get((dataset, method), "alone")
            rows.append((dataset, method, rank, np.nan, standing))
    return pd.DataFrame(rows, columns=["dataset", "method", "rank", "shared_rank", "standing"])


def change_in_words(value: float, unit: str) -> str:
    """A change against the reference: "× 0.97", "+0.012"."""
    if unit == "times":
        return f"× {not_nothing(value, 3 if value < 10 else 1)}"
    text = number(value, 3)
    return text if value <= 0 or text in ("–", "∞") else f"+{text}"
