"""Calibration figures of one data set: interval coverage; PIT, reliability and ROC curves from stored predictions."""

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.figures import pit, risk_coverage
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.figures.sparks import Panel, grid
from lockstep_bench.leaderboards.stats.first_predictions import first_splits
from lockstep_bench.leaderboards.stats.predictions import Predictions, reliability, roc
from lockstep_bench.leaderboards.wording.formats import number, visible

DIAGONAL = [(0.0, 0.0), (1.0, 1.0)]
LEVELS = (50, 80, 90, 95)  # percent
MOST_POINTS = 60  # of a curve: more make the page larger, not clearer


def coverage(cells: pd.DataFrame) -> Plot | None:
    """Return the figure of observed against nominal interval coverage, one panel per method; None without coverage.

    Args:
        cells: finished results on one data set under one preset; their order of methods is that of the panels.
    """
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
    """Return the calibration figures made from stored predictions, and a sentence if no predictions were stored.

    Args:
        cells: finished results on one data set under one preset.
        with_reliability: whether to draw a reliability diagram too.
    """
    regression = set(cells["task"].dropna()) == {"regression"} or cells["coverage_90"].notna().any()
    classification = cells["accuracy"].notna().any()
    if not (regression or classification):
        return [], []
    by_method = first_splits(cells)
    if not by_method:
        what = "PIT figures" if regression else "reliability diagrams, OOD ROC curves"
        needed = "they need predictions of single test points, which were not kept"
        return [], [f"There are no {what} and curves of risk against coverage: {needed}."]
    regressions = {m: kept for m, kept in by_method.items() if kept.mean is not None}
    classifiers = {m: kept for m, kept in by_method.items() if kept.log_probs is not None}
    plots = [
        pit.of_regressions(regressions) if regressions else None,
        risk_coverage.of_regressions(regressions) if regressions else None,
        _reliability(classifiers, ece_in_words(cells)) if with_reliability else None,
        risk_coverage.of_classifiers(classifiers) if classifiers else None,
        _roc({m: kept for m, kept in classifiers.items() if kept.ood.any()}),
    ]
    return [plot for plot in plots if plot], []


def ece_in_words(cells: pd.DataFrame) -> dict[str, str]:
    """Return each method's mean ECE as text, such as "ECE 0.031 (0.028)", by method.

    The number in brackets is the ECE that a perfectly calibrated model would have in expectation.
    """
    means = cells.groupby("method")[["ece", "ece_null"]].mean()
    return {
        str(method): f"ECE {number(row.ece, 3)}" + ("" if np.isnan(row.ece_null) else f" ({number(row.ece_null, 3)})")
        for method, row in means.iterrows()
    }


def _reliability(by_method: dict[str, Predictions], errors: dict[str, str]) -> Plot | None:
    if not by_method:
        return None
    diagrams = []
    for method, predictions in by_method.items():
        bins = reliability(predictions)
        filled = bins[bins["count"] > 0]
        line = list(zip(filled["confidence"].tolist(), filled["accuracy"].tolist(), strict=True))
        diagrams.append(Panel(visible(method), errors[method], line, []))
    return Plot(
        grid(diagrams, DIAGONAL),
        "Calibration error by method: " + ", ".join(f"{panel.title} {panel.note[4:]}" for panel in diagrams),
        "Reliability, first split: accuracy (upwards) against confidence (to the right), the maximum class "
        "probability, in 15 bins of equal width. Below the dashed line: overconfident; above it: underconfident. ECE "
        "is the mean over splits; in brackets, that of a calibrated model with the same predictions.",
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
