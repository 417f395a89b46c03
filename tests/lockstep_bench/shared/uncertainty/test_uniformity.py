"""The test of uniformity, against all outcomes of few points and the nominal rate of rejection."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from lockstep_bench.shared.uncertainty.uniformity import N_CELLS, POINTS, distribution, uniform_band, uniformity_p_value


@pytest.mark.parametrize("n", [1, 2])
def test_uniformity_p_value_equals_exact_enumeration(n):
    """Every point falls into one of 50 cells of equal probability."""
    cells = np.array(list(product(range(N_CELLS), repeat=n)))
    counts = (cells[:, :, None] < np.arange(1, N_CELLS)).sum(axis=1)
    local = 2 * np.minimum(stats.binom.cdf(counts, n, POINTS), stats.binom.sf(counts - 1, n, POINTS))
    smallest = local.min(axis=1)
    for row in np.random.default_rng(n).choice(len(cells), 20):
        expected = (smallest <= smallest[row] + 1e-12).mean()
        assert uniformity_p_value((cells[row] + 0.5) / N_CELLS) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [10, 300])
def test_uniform_pit_is_rejected_at_the_nominal_rate(n):
    generator = np.random.default_rng(0)
    p_values = np.array([uniformity_p_value(generator.uniform(size=n)) for _ in range(500)])
    for level in (0.05, 0.5):
        rate = (p_values <= level).mean()
        error = np.sqrt(level * (1 - level) / 500)
        assert level - 0.03 - 4 * error < rate < level + 4 * error  # counts are whole numbers: at most the level


@pytest.mark.parametrize("shape", [(1, 1), (0.7, 0.7), (1.5, 1.5), (1, 1.3)])
def test_p_value_below_level_iff_band_is_left(shape):
    generator = np.random.default_rng(1)
    low, high = uniform_band(80)
    rejected = []
    for _ in range(50):
        pit = generator.beta(*shape, size=80)
        found = distribution(pit)
        rejected.append(uniformity_p_value(pit) <= 0.05)
        assert rejected[-1] == bool(((found < low) | (found > high)).any())
    assert shape == (1, 1) or any(rejected)


def test_uniformity_band_has_equal_tails():
    low, high = uniform_band(31)
    np.testing.assert_allclose(low, (1 - high)[::-1], atol=1e-12)
    assert (low <= POINTS).all()
    assert (high >= POINTS).all()


def test_thin_tails_are_detected_better_than_by_kolmogorov_smirnov():
    """Overconfidence only in the tails: a tenth of the values moved to the ends."""
    pit = (np.arange(200) + 0.5) / 200
    pit[90:110] = np.repeat([1e-6, 1 - 1e-6], 10)
    assert uniformity_p_value(pit) < 0.01
    assert stats.kstest(pit, "uniform").pvalue > 0.2


def test_constant_pit_values_are_rejected():
    assert uniformity_p_value(np.zeros(100)) < 1e-12
    assert uniformity_p_value(np.full(100, 0.5)) < 1e-12


@pytest.mark.parametrize("values", [[0.5, np.nan], [0.5, 1.1], [-0.1], []])
def test_values_outside_0_to_1_are_refused(values):
    with pytest.raises(ValueError, match="PIT values"):
        uniformity_p_value(np.array(values))
