"""Holm's adjustment of p-values, against statsmodels."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from lockstep_bench.leaderboards.stats.significance import ALPHA, holm, holm_level, holm_rejections


def test_holm_adjustment_equals_statsmodels(rng):
    p_values = np.concatenate([rng.uniform(size=30), rng.uniform(size=5) / 1000, [0.2, 0.2]])
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_untested_hypotheses_do_not_enter_holms_adjustment():
    assert holm(np.array([0.01, np.nan, 0.04])) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert len(holm(np.array([]))) == 0


def test_holm_level_is_threshold_for_another_p_value():
    p_values = np.array([0.001, 0.03, 0.2, 0.9, np.nan])
    level = holm_level(holm(p_values))
    for further, significant in ((0.999 * level, True), (1.001 * level, False)):
        p_values[1] = further
        assert (multipletests(p_values[:4], method="holm")[1][1] <= 0.05) == significant


def test_holm_level_without_open_tests_is_five_percent():
    assert holm_level(np.array([0.01, np.nan])) == 0.05


@pytest.mark.parametrize("scale", [1, 1e-2, 1e-4, 0])
def test_fast_holm_rejections_equal_adjusted_p_values(scale, rng):
    p_values = np.concatenate([rng.uniform(size=50) * scale, rng.uniform(size=50), [np.nan, 0.05, 0.05]])
    significant, level = holm_rejections(p_values)
    adjusted = holm(p_values)
    assert significant.tolist() == (adjusted <= ALPHA).tolist()
    assert level == holm_level(adjusted)
