"""Standardised training rows have mean 0 and variance 1, and nothing leaks from other rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lockstep_bench.datasets import Standardisation, noise_precisions

values = st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) > 1e-6)
shapes = st.tuples(st.integers(2, 30), st.integers(1, 4))
tables = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))


@given(tables, st.data())
@settings(deadline=None)
def test_training_rows_get_zero_mean_and_unit_variance(table, data):
    rows = data.draw(st.lists(st.sampled_from(range(len(table))), min_size=1, unique=True))
    mean, scale = Standardisation.of(table, rows)
    assert (scale > 0).all()
    assert mean.shape == scale.shape == table.shape[1:]
    z = (table[rows] - mean) / scale
    constant = np.ptp(table[rows], axis=0) == 0
    assert (z[:, constant] == 0).all()
    # A column whose spread is just above rounding keeps few digits of its own.
    wide = table[rows].std(axis=0) > 1e-6 * np.abs(table[rows]).max(axis=0)
    np.testing.assert_allclose(z[:, wide].mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(z[:, wide].std(axis=0), 1, rtol=1e-8)


@given(tables)
@settings(deadline=None)
def test_only_training_rows_determine_the_standardisation(table):
    rows = np.arange(0, len(table), 2)
    changed = table.copy()
    changed[1::2] = 1e9
    for before, after in zip(Standardisation.of(table, rows), Standardisation.of(changed, rows), strict=True):
        np.testing.assert_array_equal(before, after)


@given(tables, st.sampled_from([2.0**-40, 0.5, 2.0**40]))
@settings(deadline=None)
def test_standardised_values_do_not_depend_on_units(table, unit):
    rows = np.arange(len(table))
    before, after = Standardisation.of(table, rows), Standardisation.of(table * unit, rows)
    np.testing.assert_array_equal(before.mean * unit, after.mean)
    varies = table.std(axis=0) > 1e-12 * np.abs(table.mean(axis=0))
    np.testing.assert_array_equal((before.scale * unit)[varies], after.scale[varies])


def test_target_is_standardised_like_an_input_column():
    y = np.array([1.0, 3.0, 100.0])
    mean, scale = Standardisation.of(y, [0, 1])
    assert (mean, scale) == (2.0, 1.0)
    assert mean.shape == scale.shape == ()


def test_nearly_constant_column_is_not_amplified():
    column = 0.1 * 3 * np.ones(1000)
    column[::2] = 0.3
    assert np.ptp(column) > 0
    mean, scale = Standardisation.of(column, np.arange(1000))
    assert scale == 1
    assert np.abs(column - mean).max() < 1e-15


@pytest.mark.parametrize("rows_at_once", [2, 4096])
def test_image_channels_get_zero_mean_and_unit_variance(monkeypatch, rows_at_once):
    monkeypatch.setattr("lockstep_bench.datasets.standardise.ROWS_AT_ONCE", rows_at_once)
    pixels = np.random.default_rng(0).integers(0, 256, size=(9, 3, 20), dtype=np.uint8)
    pixels[:, 2] = 7
    rows = [0, 2, 3, 8, 5]
    mean, scale = Standardisation.of_channels(pixels.reshape(9, 60), rows, 3)
    z = ((pixels.reshape(9, 60) - mean) / scale)[rows].reshape(5, 3, 20)
    np.testing.assert_allclose(z.mean(axis=(0, 2)), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=(0, 2)), [1, 1, 0], atol=1e-12)


def test_noise_precision_range_follows_the_target_scale():
    y = np.random.default_rng(0).normal(3.0, 0.017, size=400)
    np.testing.assert_allclose(noise_precisions(y), (1 / y.var(), 100 / y.var()))
    np.testing.assert_allclose(noise_precisions(1000 * y), np.array(noise_precisions(y)) * 1e-6)


def test_constant_targets_get_the_default_noise_range():
    assert noise_precisions(np.full(9, 5.0)) == (1.0, 100.0)


def test_standardising_by_zero_rows_is_refused():
    with pytest.raises(ValueError, match="0 rows"):
        Standardisation.of(np.ones((3, 2)), [])
    with pytest.raises(ValueError, match="0 rows"):
        Standardisation.of_channels(np.ones((3, 4), dtype=np.uint8), [], 1)
