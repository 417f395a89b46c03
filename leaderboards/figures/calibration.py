"""Calibration figures of a board: interval coverage from rows; PIT, reliability and ROC curves from predictions."""

import numpy as np
import pandas as pd

from leaderboards.figures.classifiers import calibration_error
from leaderboards.figures.plots import Plot
from leaderboards.figures.sparks import Panel, grid
from leaderboards.stats.predictions import Predictions, first_splits, pit, reliability, roc
from leaderboards.wording.formats import number, visible

DIAGONAL = [(0.0, 0.0), (1.0, 1.0)]
LEVELS = (50, 80, 90, 95)  # percent
BINS, TALLEST = 10, 3.0  # of a PIT histogram: number of bins, and the density that fills a panel (uniform is 1)
MOST_POINTS = 60  # of a curve: more make the page larger, not clearer


def coverage(cells: pd.DataFrame) -> Plot | None:
    """Return observed against nominal coverage of finished cells, methods in their order; None without coverage."""
    columns = [f"coverage_{level}" for level in LEVELS]
    means = cells.groupby("method", sort=False)[columns].mean().dropna()
    if means.empty:
        return None
    panels = [
        Panel(
            visible(method),
            f"90 %: {100 * row.coverage_90:.0f} %",
            [(0.0, 0.0), *((level / 100, float(row[f"coverage_{level}"])) for level in LEVELS), (1.0, 1.0)],
            [],
        )
        for method, row in means.iterrows()
    ]
    return Plot(
        grid(panels, DIAGONAL),
        "Coverage of 90 % intervals by method: " + ", ".join(f"{panel.title} {panel.note[6:]}" for panel in panels),
        "Interval coverage: the share of test points inside central predictive intervals (upwards) against their "
        "nominal share (to the right), mean over splits. Below the dashed line they are too narrow, above it too wide.",
    )


def of_predictions(cells: pd.DataFrame, with_reliability: bool) -> tuple[list[Plot], list[str]]:
    """Return figures from the predictions of finished cells, and a sentence if predictions were not kept.

    Args:
        cells: rows of one board.
        with_reliability: whether to draw a reliability diagram too.
    """
    regression = set(cells["task"].dropna()) == {"regression"} or cells["coverage_90"].notna().any()
    classification = cells["accuracy"].notna().any()
    if not (regression or classification):
        return [], []
    by_method = first_splits(cells)
    if not by_method:
        what = "PIT histograms" if regression else "reliability diagrams and OOD ROC curves"
        return [], [f"There are no {what}: they need predictions of single test points, which were not kept."]
    plots = [_pit({m: kept for m, kept in by_method.items() if kept.mean is not None})]
    classifiers = {m: kept for m, kept in by_method.items() if kept.log_probs is not None}
    plots += [
        _reliability(classifiers) if with_reliability else None,
        _roc({m: kept for m, kept in classifiers.items() if kept.ood.any()}),
    ]
    return [plot for plot in plots if plot], []


def _pit(by_method: dict[str, Predictions]) -> Plot | None:
    if not by_method:
        return None
    panels, spoken = [], []
    for method, predictions in by_method.items():
        share, _ = np.histogram(pit(predictions)[~predictions.ood], BINS, (0, 1))
        density = share / share.sum() * BINS
        panels.append(Panel(visible(method), "", [], [min(float(d) / TALLEST, 1.0) for d in density]))
        spoken.append(f"{visible(method)} {100 * (share[0] + share[-1]) / share.sum():.0f} %")
    return Plot(
        grid(panels, [(0.0, 1 / TALLEST), (1.0, 1 / TALLEST)]),
        "PIT histograms by method; share of test points in the two outer tenths, ideally 20 %: " + ", ".join(spoken),
        "PIT histograms, first split: how often the target falls into each tenth of its predictive distribution. "
        "Ideally, bars reach the dashed line. A U shape means overconfident, a hump underconfident, a slope biased.",
    )


def _reliability(by_method: dict[str, Predictions]) -> Plot | None:
    if not by_method:
        return None
    panels = []
    for method, predictions in by_method.items():
        bins = reliability(predictions)
        filled = bins[bins["count"] > 0]
        line = list(zip(filled["confidence"].tolist(), filled["accuracy"].tolist(), strict=True))
        panels.append(Panel(visible(method), f"ECE {number(calibration_error(bins), 3)}", line, []))
    return Plot(
        grid(panels, DIAGONAL),
        "Calibration error by method: " + ", ".join(f"{panel.title} {panel.note[4:]}" for panel in panels),
        "Reliability, first split: accuracy (upwards) against confidence (to the right), the maximum class "
        "probability, in 15 bins of equal width. Below the dashed line: overconfident; above it: underconfident.",
    )


def _roc(by_method: dict[str, Predictions]) -> Plot | None:
    if not by_method:
        return None
    panels = []
    for method, predictions in by_method.items():
        false, true = roc(predictions)
        area = float(np.trapezoid(true, false))
        kept = np.unique(np.linspace(0, len(false) - 1, MOST_POINTS).astype(int))
        line = list(zip(false[kept].tolist(), true[kept].tolist(), strict=True))
        panels.append(Panel(visible(method), f"AUROC {number(area, 3)}", line, []))
    return Plot(
        grid(panels, DIAGONAL),
        "Area under the OOD ROC curve by method: " + ", ".join(f"{panel.title} {panel.note[6:]}" for panel in panels),
        "OOD detection, first split: the share of out-of-distribution points that are detected (upwards) against the "
        "share of test points that are falsely detected. The score is 1 - maximum probability; all OOD sets pooled.",
    )
