"""Ticks of axes."""

import numpy as np
import pytest
from matplotlib.ticker import MaxNLocator

from lockstep_bench.leaderboards.figures.axis import Axis


@pytest.mark.parametrize("most", [2, 4, 6])
def test_ticks_are_those_of_matplotlib(most):
    rng = np.random.default_rng(most)
    ends = np.sort(rng.normal(size=(500, 2)) * 10.0 ** rng.integers(-8, 9, (500, 1)) + rng.integers(-3, 4, (500, 1)))
    for low, high in ends.tolist():
        axis = Axis(low, high)
        theirs = [v for v in MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high) if axis.holds(v)]
        assert axis.ticks(most) == pytest.approx(theirs, rel=1e-9, abs=1e-9 * (high - low))


@pytest.mark.parametrize("ends", [(2.0, 2.0), (0.0, np.nan), (-np.inf, 1.0)])
def test_axis_without_width_has_no_ticks(ends):
    assert Axis(*ends).ticks(6) == []


def test_axes_begin_and_end_with_ticks_at_round_numbers():
    assert Axis(0.0, 1.0).ticks(6) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert Axis(-40.0, 60.0).ticks(5) == [-40, -20, 0, 20, 40, 60]
