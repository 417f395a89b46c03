"""Figures of risk against coverage from predictions."""

import re

import numpy as np
import pytest

from lockstep_bench.leaderboards.figures import risk_coverage
from lockstep_bench.leaderboards.stats.predictions import Predictions

CERTAIN_ARE_RIGHT = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]


def classified(y: list[float]) -> Predictions:
    log_probs = np.log(np.array(CERTAIN_ARE_RIGHT))[:, None]
    return Predictions(np.array(y), np.zeros(4, bool), None, None, log_probs)


def regressed(sd: list[float]) -> Predictions:
    n = len(sd)
    return Predictions(np.arange(1.0, n + 1), np.zeros(n, bool), np.zeros((n, 1)), np.square(sd)[:, None], None)


def heights(svg: str) -> list[float]:
    """Return the risks of a panel's curve, relative to that of all points."""
    (path,) = re.findall(r'class="line ours" d="M([^"]+)"', svg)
    return [2 * (1 - float(point.split()[1]) / 88) for point in path.split("L")]


def test_risk_coverage_orders_points_by_confidence():
    """Two of four wrong: no error among the first two, a third of three, and half of all."""
    plot = risk_coverage.of_classifiers({"a": classified([0, 0, 1, 1])})
    assert heights(plot.svg) == pytest.approx([0, 0, 2 / 3, 1], abs=0.01)
    assert f">AURC {(1 / 3 + 1 / 2) / 4:.3g}<" in plot.svg
    assert ">AUGRC 0.125<" in plot.svg
    assert plot.description == "AURC by method: a 0.208"


def test_squared_errors_are_sorted_by_predictive_variance():
    """Squared errors of 1 and 4, with a mean of 2.5."""
    plot = risk_coverage.of_regressions({"a": regressed([0.1, 0.2])})
    assert heights(plot.svg) == pytest.approx([1 / 2.5, 1], abs=0.01)
    assert f">AURC {(1 + 2.5) / 2:.3g}<" in plot.svg
    flat = risk_coverage.of_regressions({"a": regressed([0.1, 0.1])})
    assert heights(flat.svg) == pytest.approx([1, 1], abs=0.01)


def test_perfect_classifier_has_zero_risk():
    plot = risk_coverage.of_classifiers({"a": classified([0, 0, 0, 0])})
    assert heights(plot.svg) == [0, 0, 0, 0]
    assert ">AURC 0<" in plot.svg


def test_large_areas_are_printed_without_an_exponent():
    plot = risk_coverage.of_regressions({"a": regressed([0.1] * 90)})
    assert re.search(r">AURC \d{4}<", plot.svg)
