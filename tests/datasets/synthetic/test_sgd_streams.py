"""The regressions whose SGD iterates are a stream: their law, their layout and their values."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.synthetic.sgd_streams import NOISE_PRECISION, PRIOR_PRECISION, SOURCES

NAMES = tuple(source.name for source in SOURCES)
DATA_SHA256 = "fc77bd1b1a4e01ec29734ac62d1901a9da0a1a7fd9824170970e114317637cf7"


def test_each_row_of_thesis_table_4_1_has_a_data_set():
    assert NAMES == (
        "sgd-iterates-lr0.1-lambda0.1",
        "sgd-iterates-lr0.1-lambda0.001",
        "sgd-iterates-lr0.01-lambda0.1",
        "sgd-iterates-lr0.01-lambda0.001",
    )
    for source in SOURCES:
        assert source.name == f"sgd-iterates-lr{source.lr}-lambda{source.weight_decay}"
        assert (source.suites, source.max_length, source.n_factors) == (("factor-analysis",), 1000, 1)


def test_generated_data_have_the_pinned_checksums():
    assert {datasets.load(name).data_sha256 for name in NAMES} == {DATA_SHA256}


def test_each_split_is_one_regression_of_1000_training_rows():
    dataset = datasets.load(NAMES[0])
    for number, split in enumerate(dataset.splits):
        np.testing.assert_array_equal(split.train, 1100 * number + np.arange(1000))
        np.testing.assert_array_equal(split.test, 1100 * number + np.arange(1000, 1100))


def test_inputs_noise_and_weights_have_the_variances_of_the_thesis():
    dataset = datasets.load(NAMES[0])
    np.testing.assert_allclose(np.cov(dataset.x.T), [[1, 0.5], [0.5, 1]], atol=0.05)
    solutions = []
    for split in dataset.splits:
        x, y = dataset.x[split.train], dataset.y[split.train]
        theta, (square,), *_ = np.linalg.lstsq(x, y)
        assert square / (len(y) - 2) == pytest.approx(1 / NOISE_PRECISION, rel=0.2)
        solutions.append(theta)
    # The sum of 20 squares over their variance is chi-squared: within 7 and 40 in 999 cases of 1000.
    assert 7 < PRIOR_PRECISION * np.square(solutions).sum() < 40
