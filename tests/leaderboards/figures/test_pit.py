"""PIT figures: the line, its band and the p value."""

import re

import numpy as np
from scipy import stats

from lockstep_bench.leaderboards.figures import pit
from lockstep_bench.leaderboards.stats.predictions import Predictions
from lockstep_bench.shared.uncertainty.uniformity import uniform_band, uniformity_p_value


def regression(sd: float, n: int = 60) -> Predictions:
    """Targets with a standard deviation of 1, predicted with another one."""
    y = np.random.default_rng(0).normal(size=n)
    return Predictions(y, np.zeros(n, bool), np.zeros((n, 1)), np.full((n, 1), sd**2), None)


def test_caption_states_p_values_of_pit_uniformity():
    predicted = {"right": regression(1.0), "narrow": regression(0.2)}
    plot = pit.of_regressions(predicted)
    p_value = uniformity_p_value(stats.norm.cdf(predicted["right"].y))
    assert p_value > 0.05
    assert f">p = {p_value:.2g}<" in plot.svg
    assert ">p &lt; 0.001<" in plot.svg
    assert plot.description.endswith(f"right p = {p_value:.2g}, narrow p < 0.001")


def test_overconfident_methods_pit_curve_leaves_the_band():
    """In an SVG up is negative: the line is above the band on the left and below it on the right."""
    svg = pit.of_regressions({"narrow": regression(0.2)}).svg
    band, line = (
        np.array([tuple(map(float, point.split())) for point in path.split("L")])
        for path in re.findall(r'class="(?:area muted|line ours)" d="M([^z"]+)z?"', svg)[-2:]
    )
    upper, lower = np.split(band, 2)[1][::-1, 1], np.split(band, 2)[0][:, 1]
    assert line[10, 1] < upper[10]
    assert line[40, 1] > lower[40]


def test_pit_figure_leaves_out_ood_points():
    predicted = regression(1.0)
    with_ood = predicted._replace(
        y=np.append(predicted.y, np.nan),
        ood=np.append(predicted.ood, True),
        mean=np.zeros((61, 1)),
        variance=np.ones((61, 1)),
    )
    assert pit.of_regressions({"a": with_ood}) == pit.of_regressions({"a": predicted})
    assert uniform_band(60)[0].shape == (49,)
