"""Figures of the probability integral transform (PIT) of regression targets, with a test of its uniformity."""

import numpy as np

from lockstep_bench.leaderboards.figures.panels import PanelScale, note, panels
from lockstep_bench.leaderboards.figures.plots import Plot
from lockstep_bench.leaderboards.stats.predictions import Predictions, pit
from lockstep_bench.leaderboards.wording.formats import visible
from lockstep_bench.shared.uncertainty.uniformity import POINTS, distribution, uniform_band, uniformity_p_value

WIDEST = 4  # height of a panel, at most, in widths of the band
LEAST_P = 0.001  # smaller p values are printed as an inequality


def of_regressions(by_method: dict[str, Predictions]) -> Plot:
    """Return the figure of each method's PIT distribution function minus that of uniform values.

    A band shows the deviations that chance allows.
    """
    values = {method: pit(predictions)[~predictions.ood] for method, predictions in by_method.items()}
    excess = {method: distribution(of_method) - POINTS for method, of_method in values.items()}
    bands = [uniform_band(len(of_method)) for of_method in values.values()]
    widest = max(float((high - low).max()) for low, high in bands)
    most = min(max(float(np.abs(line).max()) for line in excess.values()), WIDEST * widest)
    highest = np.ceil(20 * max(most, widest)) / 20
    scale = PanelScale((0, 1), (-highest, highest))
    p_values = {method: _p_in_words(uniformity_p_value(of_method)) for method, of_method in values.items()}

    def panel(method: str) -> list[str]:
        low, high = (end - POINTS for end in uniform_band(len(values[method])))
        return [
            scale.band(_with_ends(POINTS, 1.0), _with_ends(low), _with_ends(high), "muted"),
            scale.line([0, 1], [0, 0], "muted thin dashed"),
            scale.line(_with_ends(POINTS, 1.0), _with_ends(excess[method]), "ours"),
            note(p_values[method], 0.04),
        ]

    return Plot(
        panels(
            list(values),
            panel,
            scale,
            ((0, 0.5, 1), (-highest, 0, highest)),
            ("PIT", "excess"),
            [("area muted", "95 % of uniform samples stay inside everywhere")],
        ),
        "Uniformity of the PIT by method: " + ", ".join(f"{visible(method)} {p}" for method, p in p_values.items()),
        "PIT, first split: the share of targets below a quantile of their predictive distribution, minus its "
        "level. The line of a calibrated method stays inside the band with a probability of 95 %; p is the p value of "
        "calibration, at most 0.05 where the line leaves the band. A hill and then a valley means overconfident, a "
        "valley and then a hill underconfident; a line on one side means biased.",
    )


def _with_ends(values: np.ndarray, last: float = 0.0) -> np.ndarray:
    """Return values at `POINTS` with the values at the ends added: 0 at 0, and `last` at 1."""
    return np.concatenate([[0.0], values, [last]])


def _p_in_words(p_value: float) -> str:
    return f"p = {p_value:.2g}" if p_value >= LEAST_P else f"p < {LEAST_P}"
