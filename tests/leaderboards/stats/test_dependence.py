"""The ratio of a split scheme, from the rows of a data set."""

from math import isnan

import pandas as pd
import pytest

from leaderboards.stats.dependence import ratios


@pytest.mark.parametrize(
    ("dataset", "n_train", "n_test", "expected"),
    [
        ("yacht", 277, 31, 31 / 277),  # random splits
        ("somebodys-own", 80, 20, 1 / 4),  # 5 folds: 1 / (k - 1)
        ("australian", 345, 345, 1.0),  # halves
        ("toy", 100, 100, 0.0),  # each split has its own rows
    ],
)
def test_ratio_follows_the_scheme(dataset, n_train, n_test, expected):
    cells = pd.DataFrame({"dataset": [dataset] * 2, "n_train": [n_train] * 2, "n_test": [n_test] * 2})
    assert ratios(cells) == {dataset: pytest.approx(expected)}


def test_a_common_test_part_has_no_known_ratio():
    cells = pd.DataFrame({"dataset": ["mnist"], "n_train": [54_000], "n_test": [10_000]})
    assert isnan(ratios(cells)["mnist"])
