"""The ratio of a split scheme, from the rows of a data set."""

from math import isnan

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.leaderboards.stats.corrected_t import corrected_mean
from lockstep_bench.leaderboards.stats.dependence import ratios


@pytest.mark.parametrize(
    ("dataset", "n_train", "n_test", "expected"),
    [
        ("yacht", 277, 31, 31 / 277),  # random splits
        ("somebodys-own", 80, 20, 1 / 4),  # 5 folds: 1 / (k - 1)
        ("australian", 345, 345, 1.0),  # halves
        ("toy", 100, 100, 0.0),  # each split has its own rows
    ],
)
def test_variance_ratio_follows_the_split_scheme(dataset, n_train, n_test, expected):
    cells = pd.DataFrame({"dataset": [dataset] * 2, "n_train": [n_train] * 2, "n_test": [n_test] * 2})
    assert ratios(cells) == {dataset: pytest.approx(expected)}


def test_shared_test_set_has_unknown_variance_ratio():
    cells = pd.DataFrame({"dataset": ["mnist"], "n_train": [54_000], "n_test": [10_000]})
    assert isnan(ratios(cells)["mnist"])


@pytest.mark.parametrize("sizes", [(0, 10), (10, 0), (10, -5), (-10, 5), (None, None)])
@pytest.mark.parametrize("dataset", ["yacht", "yacht-gap"])
def test_invalid_split_sizes_have_unknown_variance_ratio(dataset, sizes):
    cells = pd.DataFrame({"dataset": [dataset], "n_train": sizes[:1], "n_test": sizes[1:]}).astype({"n_train": float})
    assert isnan(ratios(cells.astype({"n_test": float}))[dataset])


def test_feature_gap_splits_have_the_ratio_of_sizes():
    cells = pd.DataFrame({"dataset": ["yacht-gap"], "n_train": [206], "n_test": [102]})
    assert ratios(cells) == {"yacht-gap": pytest.approx(102 / 206)}


def test_corrected_t_test_keeps_its_level_on_gap_splits():
    """Two equally good regressions, each on a feature of its own, fitted beside the gap of eight other features."""
    rng = np.random.default_rng(0)
    differing = {0.0: 0, 1 / 2: 0}
    for _ in range(400):
        gaps, own, y = rng.normal(size=(90, 8)), rng.normal(size=(90, 2)), rng.standard_t(3, size=90)
        differences = []
        for order in np.argsort(gaps, axis=0).T:
            test, train = order[30:60], np.concatenate([order[:30], order[60:]])
            slopes = own[train].T @ y[train] / np.square(own[train]).sum(axis=0)
            differences.append(-np.diff(np.square(y[test, None] - own[test] * slopes).mean(axis=0))[0])
        for ratio in differing:
            differing[ratio] += corrected_mean(np.array(differences), ratio).p_value < 0.05
    chance = 400 * 0.05 + 3 * np.sqrt(400 * 0.05 * 0.95)
    assert differing[1 / 2] <= chance < differing[0.0]
