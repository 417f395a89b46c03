"""The inputs of a split are those of an encoder that has seen only its training rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from lockstep_bench.datasets.own.columns import features_of
from lockstep_bench.datasets.own.dummies import with_inputs
from lockstep_bench.datasets.records import Split

TRAIN = np.arange(8)


@pytest.mark.parametrize(
    ("training", "test"),
    [
        ("abcabcab", "ab"),
        ("abcabcab", "dz"),
        ("abababab", "cb"),
        ("babababa", "0b"),
        ("bbbbbbba", "ba"),
        ("bdbdbdbd", "ce"),
        ("abcdefgh", "ij"),
    ],
)
def test_one_hot_inputs_equal_sklearns_encoder_on_training_rows(training, test):
    texts = np.array([*training, *test])[:, None]
    x, *_, dummies = features_of(pd.DataFrame({"n": np.linspace(0, 1, 10), "t": texts[:, 0]}), "")
    (split,) = with_inputs([Split(TRAIN, np.arange(8, 10))], x, dummies)
    encoder = OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False).fit(texts[TRAIN])
    got = x if split.inputs is None else x[:, split.inputs]
    expected = encoder.transform(np.where(np.isin(texts, texts[TRAIN]), texts, encoder.categories_[0][0]))
    unknown = ~np.isin(texts[:, 0], texts[TRAIN, 0])
    np.testing.assert_array_equal(got[~unknown, 1:], expected[~unknown])
    assert not got[unknown, 1:].any()


@pytest.mark.parametrize("test", ["aa", "ab", "bc", "0a"])
def test_single_training_category_gives_no_input(test):
    x, *_, dummies = features_of(pd.DataFrame({"n": np.linspace(0, 1, 10), "t": [*"aaaaaaaa", *test]}), "")
    (split,) = with_inputs([Split(TRAIN, np.arange(8, 10))], x, dummies)
    assert split.inputs.tolist() == [0]


def test_splits_with_all_categories_keep_all_inputs():
    x, *_, dummies = features_of(pd.DataFrame({"t": [*"abcabcabca"], "u": [*"xyxyxyxyxy"]}), "")
    (split,) = with_inputs([Split(TRAIN, np.arange(8, 10))], x, dummies)
    assert split.inputs is None
