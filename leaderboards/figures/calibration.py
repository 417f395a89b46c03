"""Figures of how calibrated a board's methods are: interval coverage from rows, the rest from their predictions."""

import numpy as np
import pandas as pd

from leaderboards.figures.classifiers import calibration_error
from leaderboards.figures.plots import Plot
from leaderboards.figures.sparks import Panel, grid
from leaderboards.stats import predicted
from leaderboards.wording.formats import number, visible

DIAGONAL = [(0.0, 0.0), (1.0, 1.0)]
LEVELS = (50, 80, 90, 95)  # percent
BINS, TALLEST = 10, 3.0  # of a PIT histogram; the height, in units of a uniform one, that fills its panel
POINTS = 60  # of a curve, at most: more make the page heavier and no clearer


def coverage(cells: pd.DataFrame) -> Plot | None:
    """Observed against nominal coverage of finished `cells`, methods in their order; None where there is none."""
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
        "Coverage of 90 % intervals by method: " + ", ".join(f"{one.title} {one.note[6:]}" for one in panels),
        "Interval coverage: the share of test points inside central predictive intervals (upwards) against their "
        "nominal share (to the right), mean over splits. Below the dashed line they are too narrow, above it too wide.",
    )


def of_predictions(cells: pd.DataFrame, reliability: bool) -> tuple[list[Plot], list[str]]:
    """Figures from the predictions of finished `cells`, and a sentence where there could be some but are not.

    `reliability`: whether a reliability diagram is wanted too.
    """
    regression = set(cells["task"].dropna()) == {"regression"} or cells["coverage_90"].notna().any()
    classification = cells["accuracy"].notna().any()
    if not (regression or classification):
        return [], []
    found = predicted.first_splits(cells)
    if not found:
        what = "PIT histograms" if regression else "reliability diagrams and OOD ROC curves"
        return [], [f"There are no {what}: they need predictions of single test points, which were not kept here."]
    plots = [_pit({m: one for m, one in found.items() if one.mean is not None})]
    classifiers = {m: one for m, one in found.items() if one.log_probs is not None}
    plots += [
        _reliability(classifiers) if reliability else None,
        _roc({m: o for m, o in classifiers.items() if o.ood.any()}),
    ]
    return [plot for plot in plots if plot], []


def _pit(found: dict[str, predicted.Predicted]) -> Plot | None:
    if not found:
        return None
    panels, spoken = [], []
    for method, one in found.items():
        share, _ = np.histogram(predicted.pit(one)[~one.ood], BINS, (0, 1))
        density = share / share.sum() * BINS
        panels.append(Panel(visible(method), "", [], [min(float(d) / TALLEST, 1.0) for d in density]))
        spoken.append(f"{visible(method)} {100 * (share[0] + share[-1]) / share.sum():.0f} %")
    return Plot(
        grid(panels, [(0.0, 1 / TALLEST), (1.0, 1 / TALLEST)]),
        "PIT histograms by method; share of test points in the two outer tenths, ideally 20 %: " + ", ".join(spoken),
        "PIT histograms, first split: how often the target falls into each tenth of its predictive distribution, to be "
        "level with the dashed line. A hollow in the middle is too sure, a hill not sure enough, a slope biased.",
    )


def _reliability(found: dict[str, predicted.Predicted]) -> Plot | None:
    if not found:
        return None
    panels = []
    for method, one in found.items():
        bins = predicted.reliability(one)
        filled = bins[bins["count"] > 0]
        line = list(zip(filled["confidence"].tolist(), filled["accuracy"].tolist(), strict=True))
        panels.append(Panel(visible(method), f"ECE {number(calibration_error(bins), 3)}", line, []))
    return Plot(
        grid(panels, DIAGONAL),
        "Calibration error by method: " + ", ".join(f"{one.title} {one.note[4:]}" for one in panels),
        "Reliability, first split: accuracy (upwards) against confidence, the largest class probability, in 15 bins of "
        "equal width. Below the dashed line a method is too sure, above it not sure enough.",
    )


def _roc(found: dict[str, predicted.Predicted]) -> Plot | None:
    if not found:
        return None
    panels = []
    for method, one in found.items():
        false, true = predicted.roc(one)
        area = float(np.trapezoid(true, false))
        kept = np.unique(np.linspace(0, len(false) - 1, POINTS).astype(int))
        line = list(zip(false[kept].tolist(), true[kept].tolist(), strict=True))
        panels.append(Panel(visible(method), f"AUROC {number(area, 3)}", line, []))
    return Plot(
        grid(panels, DIAGONAL),
        "Area under the OOD ROC curve by method: " + ", ".join(f"{one.title} {one.note[6:]}" for one in panels),
        "OOD detection, first split: the share of out-of-distribution points that are found (upwards) against the "
        "share of test points that are taken for such, by 1 - the largest class probability; all OOD sets together.",
    )
