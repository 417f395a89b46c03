"""Figure of the regret of a bandit's rounds or of a search, a panel per method."""

import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.panels import PanelScale, panels


def regrets(runs: pd.DataFrame, title: str = "regret") -> Markup:
    """Return a panel per method: regret by round, mean ± standard error over runs, and that of random choices.

    `runs` has the columns of `shared.columns.REGRETS` and method, split and seed.
    """
    over_runs = runs.groupby(["method", "round"])["regret"].agg(["mean", "sem"])
    chance = runs.groupby("round")["regret_uniform"].mean()
    last, highest = int(chance.index.max()), float(max(chance.max(), over_runs["mean"].max()))
    scale = PanelScale((0, last), (0, highest))

    def panel(method: str) -> list[str]:
        curve = over_runs.loc[method].fillna(0.0)
        rounds, mean, error = curve.index.to_numpy(), curve["mean"].to_numpy(), curve["sem"].to_numpy()
        return [
            scale.line(chance.index.to_numpy(), chance.to_numpy(), "ink thin dotted"),
            scale.band(rounds, mean - error, mean + error, "ours"),
            scale.line(rounds, mean, "ours"),
        ]

    places = (0, float(f"{highest:.1g}")) if float(f"{highest:.1g}") <= highest else (0, float(f"{highest / 2:.1g}"))
    legend = [("line ours", "method"), ("line ink thin dotted", "uniformly random actions")]
    return panels(list(dict.fromkeys(runs["method"])), panel, scale, ((0, last), places), ("rounds", title), legend)
