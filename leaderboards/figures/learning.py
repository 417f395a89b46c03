"""Figure of active learning: errors against the number of training rows, a panel per method."""

import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.figures.panels import PanelScale, panels
from lockstep_bench.shared.columns import ACQUIRED

KINDS = {"bald": "ours", "variance": "theirs", "random": "ink thin dotted"}


def learning(runs: pd.DataFrame) -> Markup:
    """Return a panel per method: RMSE by acquisition function, the mean over runs, with the standard error of BALD.

    `runs` has the columns of `shared.columns.LEARNING` and method, split and seed.
    """
    over_runs = runs.groupby(["method", "acquisition", "n_train"])["rmse"].agg(["mean", "sem"]).fillna(0.0)
    first, last, highest = int(runs["n_train"].min()), int(runs["n_train"].max()), float(over_runs["mean"].max())
    scale = PanelScale((first, last), (0, highest))

    def panel(method: str) -> list[str]:
        marks = []
        for acquisition, kind in KINDS.items():
            curve = over_runs.xs((method, acquisition))
            rows, mean, error = curve.index.to_numpy(), curve["mean"].to_numpy(), curve["sem"].to_numpy()
            if acquisition == "bald":
                marks.append(scale.band(rows, mean - error, mean + error, kind))
            marks.append(scale.line(rows, mean, kind))
        return marks

    tick = float(f"{highest:.1g}") if float(f"{highest:.1g}") <= highest else float(f"{highest / 2:.1g}")
    legend = [(f"line {kind}", f"rows {ACQUIRED[acquisition]}") for acquisition, kind in KINDS.items()]
    methods = list(dict.fromkeys(runs["method"]))
    return panels(methods, panel, scale, ((first, last), (0, tick)), ("training rows", "RMSE"), legend)
