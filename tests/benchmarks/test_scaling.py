"""Straight lines through measured times, and the figure that shows them."""

import pytest

from benchmarks import scaling
from benchmarks.scaling import Scaling, ScalingLine
from benchmarks.trivial import trivial_cells


def test_fitted_line_recovers_slope_and_intercept():
    line = ScalingLine.through((10, 20, 40), (3.0, 5.0, 9.0))
    assert (line.slope, line.intercept, line.r_squared) == pytest.approx((0.2, 1.0, 1.0))


def test_number_of_measurements_equals_the_announced_number(monkeypatch, tmp_path):
    for name, value in {"UPDATES": (1, 2), "ROWS": (20, 30), "EARLIER": (0, 3), "REPEATS": 2, "CELLS": 1}.items():
        monkeypatch.setattr(scaling, name, value)
    sizes, present = [], []
    monkeypatch.setattr(scaling, "fit_seconds", lambda rows, updates: sizes.append((rows, updates)) or 1.0 * updates)

    def cell_seconds(results, first, count):
        present.append((sum(map(results.has, trivial_cells(first))), first, count))
        return 2.0

    monkeypatch.setattr(scaling, "cell_seconds", cell_seconds)
    calls = []
    measured = scaling.measure(lambda: calls.append(None))
    assert len(calls) == scaling.n_measurements() == 12
    assert sizes == [(300, 1), *[(300, 1), (300, 2)] * 2, *[(20, 20), (30, 30)] * 2]
    assert present[1:] == [(0, 1, 1), (3, 4, 1), (0, 2, 1), (3, 5, 1)]
    assert measured.updates.slope == pytest.approx(1)
    assert measured.earlier.seconds == (2.0, 2.0)


def test_scaling_figure_has_three_labelled_panels(tmp_path):
    line = ScalingLine.through((1, 2, 3), (1.0, 2.0, 3.5))
    scaling.draw(Scaling(line, line, line), tmp_path / "out.svg")
    assert (tmp_path / "out.svg").read_text().count('id="axes_') == 3


def test_timed_cells_are_added_to_those_stored_before(tmp_path):
    results = scaling._with_earlier_cells(tmp_path, 2)
    assert scaling.cell_seconds(results, 2, 1) > 0
    assert list(results.statuses(trivial_cells(3)).values()) == ["failed", "failed", "ok"]
