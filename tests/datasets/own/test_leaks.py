"""Copies of the target among the features are noticed, and good features are not."""

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets.own.leaks import gives_classes_away, gives_numbers_away

GENERATOR = np.random.default_rng(0)
Y = GENERATOR.normal(50, 10, 200)
CLASSES = np.arange(200) % 3


@pytest.mark.parametrize("feature", [Y, -2 * Y + 5, 1e200 * Y, 1e-200 * Y, np.where(Y > 40, Y, np.nan)])
def test_affine_copy_gives_the_target_away(feature):
    assert gives_numbers_away(pd.Series(feature), Y)


@pytest.mark.parametrize(
    "feature",
    [Y + GENERATOR.normal(size=200), Y**2, np.ones(200), np.where(np.arange(200) < 2, Y, np.nan), np.full(200, 0.1)],
)
def test_good_features_do_not_give_the_target_away(feature):
    assert not gives_numbers_away(pd.Series(feature), Y)


def test_missing_cells_do_not_hide_a_leak():
    feature = pd.Series(CLASSES * 2.0).mask(np.arange(200) % 5 == 0)
    assert gives_classes_away(feature, CLASSES)
    assert not gives_classes_away(feature.mask(np.arange(200) < 150), CLASSES)


@pytest.mark.parametrize("values", [["a", "b", "c"], [3.5, 1, 2], [1e9, 1e9 + 1, 1e9 + 2]])
def test_renamed_classes_give_the_classes_away(values):
    assert gives_classes_away(pd.Series(np.array(values, dtype=object)[CLASSES]).infer_objects(), CLASSES)


@pytest.mark.parametrize(
    "feature",
    [
        np.where(np.arange(200) == 7, 0, CLASSES + 1),  # an exception
        CLASSES > 0,
        np.arange(200),
        np.array(["a", "b", "c", "d", "e", "f"])[np.arange(200) % 6],
        np.ones(200),
        np.where(CLASSES == 1, 1, np.nan),
    ],
)
def test_other_features_do_not_give_the_classes_away(feature):
    assert not gives_classes_away(pd.Series(feature), CLASSES)
