"""Values in the page that compares methods."""

from math import inf, isfinite, nan

import numpy as np

from lockstep_bench.leaderboards.site.pages.compare import DIGITS, _rounded


def test_values_are_rounded_as_python_prints_them():
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=3000) * 10 ** rng.uniform(-12, 12, 3000)
    values = np.array([*drawn, 0.0, -0.5, nan, inf, -inf, 0.99999999, 1000, 999.99999999, 123456.75]).reshape(-1, 3)
    printed = [[float(f"{value:.{DIGITS}g}") if isfinite(value) else None for value in row] for row in values]
    assert _rounded(values) == printed
