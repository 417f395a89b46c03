"""Figures of a replication (runs that repeat a paper's figure), from tables stored beside the results."""

import pandas as pd
from markupsafe import Markup

from lockstep_bench.leaderboards.data.details import details, gathered
from lockstep_bench.leaderboards.figures.covariances import MOST_WEIGHTS, heat_maps, means_and_deviations
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.figures.reference import contours, curves
from lockstep_bench.leaderboards.metrics import metric
from lockstep_bench.leaderboards.wording.formats import visible

CURVES = ("rel_cov", "w2_scaled")


def figures(cells: pd.DataFrame, key: str) -> list[Plot]:
    """Return our version of a replicated paper's figures, data set by data set, skipping those without stored tables.

    Args:
        cells: result rows of the replication.
        key: prefix for the ids of HTML elements, unique within a page.
    """
    finished = cells[cells["status"] == "ok"]
    plots = []
    for number, (name, rows) in enumerate(finished.groupby("dataset", sort=False)):
        plots += _posteriors(visible(str(name)), rows) + _curves(visible(str(name)), rows, f"{key}-{number}")
    return plots


def _posteriors(name: str, cells: pd.DataFrame) -> list[Plot]:
    tables = details("posteriors", cells)
    if not tables:
        return []
    dim = len(next(iter(tables.values()))["mean"][0])
    if dim > MOST_WEIGHTS:
        return []
    methods = ", ".join(map(visible, tables))
    if dim == 2:
        return [
            Plot(
                contours(tables),
                f"Posterior of two weights on {name} by {methods}, over the reference posterior",
                f"{name}: the reference posterior (grey, 1 and 2 standard deviations), each method's Gaussian (lines) "
                "and, where they are stored, the vectors that it was fitted to (dots); first split.",
            )
        ]
    return [
        Plot(
            Markup(heat_maps(tables) + means_and_deviations(tables)),
            f"Covariances, means and standard deviations of {dim} weights on {name}: reference, {methods}",
            f"{name}, first split. Above: covariances without the diagonal; a square is a pair of weights, as dark as "
            "their covariance is large. Below: mean ± 2 standard deviations of each weight, the reference's in grey.",
        )
    ]


def _curves(name: str, cells: pd.DataFrame, key: str) -> list[Plot]:
    runs = gathered("curves", cells)
    if runs is None or runs["n_samples"].nunique() < 2:
        return []
    methods = ", ".join(visible(method) for method in dict.fromkeys(runs["method"]))
    return [
        Plot(
            Markup(curves(runs, measure, metric(measure).title, f"{key}-{measure}")),
            f"{metric(measure).title} against the number of vectors on {name}, by {methods}",
            f"{name}: mean over splits ± standard error, as the stream grows.",
        )
        for measure in CURVES
    ]
