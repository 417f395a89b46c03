"""Definitions of the posteriors of networks, and their data."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.references import drawn
from lockstep_bench.datasets.references.networks import SUITE, definitions, sources
from lockstep_bench.methods.networks.mlp import MLP


def test_twenty_posteriors_have_fifty_to_a_thousand_weights():
    assert len(definitions()) == 20
    for source in sources():
        outputs = 1 if source.model.noise_precision else 2
        assert 50 <= MLP(source.n_features, source.model.hidden, outputs).dim <= 1000, source.name
        assert source.suites == (SUITE,)
    assert sum(each.noise_precision is None for each in definitions().values()) >= 5


def test_rows_are_the_first_of_the_original_split(load_published):
    ours, original = load_published("ref-yacht-50"), load_published("yacht")
    first = original.splits[0]
    np.testing.assert_array_equal(ours.x[ours.splits[0].train], original.x[first.train[:100]])
    np.testing.assert_array_equal(ours.y[ours.splits[0].test], original.y[first.test])


@pytest.mark.parametrize(
    ("name", "data"), [("ref-wave-50", "wave"), ("ref-ripple-50", "ripple"), ("ref-friedman-50", "friedman")]
)
def test_drawn_targets_have_the_stated_mean_and_noise(name, data):
    loaded = datasets.load(name)
    mean, sd = getattr(drawn, data)(loaded.x)
    residuals = (loaded.y - mean) / sd
    assert abs(residuals.mean()) < 4 / np.sqrt(len(residuals))
    assert residuals.std() == pytest.approx(1, abs=4 / np.sqrt(2 * len(residuals)))


def test_friedman_function_has_its_known_value():
    mean, _ = drawn.friedman(np.array([[0.5, 1.0, 0.0, 0.3, 0.2]]))
    assert mean == pytest.approx([10 + 5 + 3 + 1])
