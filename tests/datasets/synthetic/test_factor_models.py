"""The factor analysis models: the law that Algorithm 3 of the thesis gives them, their layout and their values."""

import numpy as np
import pytest
from scipy.stats import kstest

from lockstep_bench import datasets
from lockstep_bench.datasets.records import digest
from lockstep_bench.datasets.synthetic.factor_models import SOURCES, draw

DIM, K = 100, 10
SHA256 = {
    "fa-D100-K10-spectrum1-10": "c9886bdd6732931998167e419722024b466c7957246364a089215f968c697f6c",
    "fa-D100-K10-spectrum1-100": "675dfe0e548825b8a4989809264bfcb03adefd4a67da43cb130f552d97885613",
    "fa-D100-K10-spectrum1-1000": "691af926bef205127b020f24580a418dcf93c40382563b63c986f5701d7abd71",
    "fa-D1000-K10-spectrum1-10": "5f3dd777591f2f723fe071e7289c62b1faccc4f39cf28f1280c77f368e41a730",
    "fa-D1000-K10-spectrum1-100": "2d8109b81b1dd954bb20ce8fc29b71630f1688b361cb84e70e3b5d0f267a4137",
    "fa-D1000-K10-spectrum1-1000": "b7bbcf4e1930521ab4d8ea05bdc26bfde06b99904d7fde1e4e5592b87e3d6f0b",
}


@pytest.fixture(params=[source.name for source in SOURCES])
def loaded(request):
    return datasets.entry(request.param), datasets.load(request.param)


def test_generated_values_have_the_stored_checksum(loaded):
    source, dataset = loaded
    assert dataset.data_sha256 == SHA256[source.name]


def test_every_set_states_its_number_of_factors(loaded):
    source, _ = loaded
    assert source.suites == ("factor-analysis",)
    assert (source.n_factors, source.n_splits, source.max_length) == (K, 10, None)
    assert source.name == f"fa-D{source.n_features}-K10-spectrum1-{source.name.rsplit('-')[-1]}"


def test_each_split_stores_one_models_parameters(loaded):
    source, dataset = loaded
    for number, split in enumerate(dataset.splits):
        model = source.truth(dataset, split)
        rows = dataset.x[(K + 2) * number : (K + 2) * (number + 1)]
        np.testing.assert_array_equal(np.vstack(model), rows)
        assert model.factors.shape == (K, source.n_features)
        assert (model.variance > 0).all()
    assert not dataset.y.any()


def test_parameters_follow_the_distributions_of_algorithm_3(loaded):
    source, dataset = loaded
    low, high = 1, int(source.name.rsplit("-")[-1])
    models = [source.truth(dataset, split) for split in dataset.splits]
    assert kstest(np.concatenate([model.mean for model in models]), "norm").pvalue > 1e-3
    # psi over its bound is uniform, and the bound, the largest of D spectra, is within a few per cent of the highest.
    variance = np.concatenate([model.variance for model in models])
    assert kstest(variance / high, "uniform").pvalue > 1e-3
    for model in models:
        # E[s^2 V V^T] = (K/D) E[s^2] I, as the directions are uniform.
        share = (model.factors**2).sum() / (K * (low + high) / 2)
        assert share == pytest.approx(1, abs=0.25)


def test_factors_are_scaled_orthonormal_rows():
    # With a spectrum of one value there is nothing but the frame left.
    model = draw(DIM, K, (4, 4), [0])
    np.testing.assert_allclose(model.factors @ model.factors.T, 4 * np.eye(K), atol=1e-4)
    assert model.variance.max() <= 4


def test_factors_are_distributed_as_leading_wishart_eigenvectors():
    # Over many models: one entry of the projection V V^T, which no sign can change, on and off the diagonal.
    dim, k, n = 6, 2, 1500
    generator = np.random.default_rng(0)
    ours, theirs = [], []
    for seed in range(n):
        factors = draw(dim, k, (1, 1), [seed]).factors
        ours.append((factors.T @ factors)[0, :2])
        half = generator.standard_normal((dim, dim))
        vectors = np.linalg.eigh(half @ half.T)[1][:, -k:]
        theirs.append((vectors @ vectors.T)[0, :2])
    for own, other in zip(np.transpose(ours), np.transpose(theirs), strict=True):
        assert kstest(own, other).pvalue > 1e-3


def test_models_differ_between_splits_and_sets():
    everything = [datasets.load(source.name) for source in SOURCES]
    means = [digest(dataset.x[split.train[:1]]) for dataset in everything for split in dataset.splits]
    assert len(set(means)) == len(means)
