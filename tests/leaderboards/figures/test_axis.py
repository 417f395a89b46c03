"""Ticks of axes."""

import numpy as np
import pytest
from matplotlib.ticker import MaxNLocator

from lockstep_bench.leaderboards.figures.axis import Axis


@pytest.mark.parametrize("most", [2, 4, 6])
def test_ticks_are_those_of_matplotlib(most):
    rng = np.random.default_rng(most)
    for width in 10 ** rng.uniform(-4, 5, 200):
        axis = Axis(float(width * rng.uniform(-2, 1)), 0.0)
        axis = axis._replace(high=axis.low + float(width))
        wanted = MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(axis.low, axis.high)
        np.testing.assert_allclose(axis.ticks(most), [v for v in wanted if axis.holds(v)], atol=1e-9 * width)


def test_axes_begin_and_end_with_ticks_at_round_numbers():
    assert Axis(0.0, 1.0).ticks(6) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert Axis(-40.0, 60.0).ticks(5) == [-40, -20, 0, 20, 40, 60]
