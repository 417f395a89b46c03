"""Figures of risk against coverage: the loss on the share of points that a method is most certain of."""

import numpy as np

from lockstep_bench.leaderboards.figures.panels import PanelScale, note, panels
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.stats.predictions import Predictions, moments, probabilities
from lockstep_bench.leaderboards.wording.formats import three_digits, visible
from lockstep_bench.shared.uncertainty.risk_coverage import augrc, aurc, coverage, generalised_risk

SCALE = PanelScale((0, 1), (0, 2))  # coverage; risk relative to that of all points
TICKS = (0, 0.5, 1), (0, 1, 2)
MOST_POINTS = 60  # of a curve: more make the page larger, not clearer


def of_classifiers(by_method: dict[str, Predictions]) -> Plot:
    """Return the figure of the error rate on the most confident test points against their share."""
    return _plot(
        {method: _classified(predictions) for method, predictions in by_method.items()},
        "error rate",
        "Risk against coverage, first split: the error rate on the test points of greatest confidence against their "
        "share, relative to that on all points. A line below the dashed one means that confidence detects errors. AURC "
        "is the area below the line in units of the error rate. AUGRC counts errors relative to all points; it is half "
        "the error rate if confidence is uninformative.",
    )


def of_regressions(by_method: dict[str, Predictions]) -> Plot:
    """Return the figure of the mean squared error on the points of least predictive variance against their share."""
    return _plot(
        {method: _regressed(predictions) for method, predictions in by_method.items()},
        "mean squared error",
        "Risk against coverage, first split: the mean squared error on the test points of least predictive standard "
        "deviation against their share, relative to that on all points. A line below the dashed one means that the "
        "standard deviation detects errors. AURC is the area below the line in squared units of the target. AUGRC "
        "counts squared errors relative to all points; it is half their mean if the deviation is uninformative.",
    )


def _plot(curves: dict[str, tuple[np.ndarray, np.ndarray]], risk: str, caption: str) -> Plot:
    """Return the figure of the uncertainty and the loss of each method's test points."""
    areas = {method: tuple(three_digits(area(*curve)) for area in (aurc, augrc)) for method, curve in curves.items()}

    def panel(method: str) -> list[str]:
        uncertainty, loss = curves[method]
        at = coverage(len(loss))
        risks = generalised_risk(uncertainty, loss) / at / (loss.mean() or 1.0)
        kept = np.unique(np.linspace(0, len(loss) - 1, MOST_POINTS).astype(int))
        return [
            SCALE.line([0, 1], [1, 1], "muted thin dashed"),
            SCALE.line(at[kept], risks[kept], "ours"),
            note(f"AURC {areas[method][0]}", 0.87),
            note(f"AUGRC {areas[method][1]}", 0.75),
        ]

    return Plot(
        panels(list(curves), panel, SCALE, TICKS, ("coverage", f"relative {risk}")),
        "AURC by method: " + ", ".join(f"{visible(method)} {area}" for method, (area, _) in areas.items()),
        caption,
    )


def _classified(predictions: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 - confidence and whether the most probable class is wrong, of the test points."""
    test = ~predictions.ood
    probs = probabilities(predictions)[test]
    return 1 - probs.max(axis=1), (probs.argmax(axis=1) != predictions.y[test]).astype(float)


def _regressed(predictions: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictive variance and the squared error of the test points."""
    mean, variance = moments(predictions)
    test = ~predictions.ood
    return variance[test], (mean - predictions.y)[test] ** 2
