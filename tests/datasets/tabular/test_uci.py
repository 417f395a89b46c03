"""The real files: shapes, splits and the facts the notes state. Set BENCH_DATA_DIR to a folder that holds them."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import Standardisation

# Digests of the parsed values, as every result row carries them.
DATA_SHA256 = {
    "boston": "206e8c91591b0485473db45a1343c5a6040f6c618aa8c910fdac19a3acad3259",
    "concrete": "47816e2a1927f5cd1c4eec3777124ad073c99921704d9052f21b2b9a954f364d",
    "energy": "4d4efb1392e9299c803601a72726eb03a270766fc6b53e1abf89135de7be1f19",
    "kin8nm": "4c7f53530454f34de44a83b002e37613d40b0caf0f918ce81fae133aa0d83b6f",
    "naval": "bf97ef7c78d9894a8a5e16b8ed286c2e01b9956b2bade121a2fa45acc000f6c1",
    "power": "7831722379fb85412c20ce2cfc77fa58c998c8b193608adad7a339277385701f",
    "protein": "9e8166f873292d4799bdad6bb2516d644ff3f0a20c9b313fb522f1a28e9d834c",
    "wine": "2ff635c01ffd0a6e331ca7c1856dc18dccddae02fc17fe410d344127754b12a4",
    "yacht": "05107277749bd4d94bc7291f07765a0d74c8f4b5e0c791838c7647f5adb077a3",
}


@pytest.fixture(params=DATA_SHA256)
def name(request, require_data):
    require_data(request.param)
    return request.param


def test_data_sets_have_documented_shapes_splits_and_checksums(name):
    source, dataset = datasets.entry(name), datasets.load(name)
    assert dataset.x.shape == (source.n_rows, source.n_features)
    assert dataset.y.shape == (source.n_rows,)
    assert len(dataset.splits) == (5 if name == "protein" else 20)
    for split in dataset.splits:
        assert len(split.train) == round(0.9 * source.n_rows)
        assert np.array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(source.n_rows))
    assert len(set(dataset.split_sha256)) == len(dataset.splits)
    assert dataset.data_sha256 == DATA_SHA256[name]


def test_every_fold_is_standardised_to_finite_values(name):
    dataset = datasets.load(name)
    for number, split in enumerate(dataset.splits[:2]):
        for fold in datasets.folds(len(split.train), 5, seed=number):
            rows = np.delete(split.train, fold)
            mean, scale = Standardisation.of(dataset.x, rows)
            z = (dataset.x - mean) / scale
            assert np.isfinite(z).all()
            variance = z[rows].var(axis=0)
            assert (np.isclose(variance, 1) | (variance == 0)).all()
            assert (variance == 0).sum() == (2 if name == "naval" else 0)


def test_naval_has_its_documented_constant_columns_and_scale(load_published):
    dataset = load_published("naval")
    assert np.flatnonzero(np.ptp(dataset.x, axis=0) == 0).tolist() == [8, 11]
    assert np.array_equal(dataset.x[:, 5], dataset.x[:, 6])
    assert dataset.y.std() == pytest.approx(0.0147, abs=5e-5)
    mean, scale = Standardisation.of(dataset.x, dataset.splits[0].train)
    assert (((dataset.x - mean) / scale)[:, [8, 11]] == 0).all()


def test_energy_boston_and_wine_have_their_documented_properties(load_published):
    assert np.linalg.matrix_rank(load_published("energy").x) == 7
    assert (load_published("boston").y == 50).sum() == 16
    assert np.unique(load_published("wine").y).tolist() == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("name", "repeats", "twins"), [("wine", 240, 27), ("protein", 1711, 6.5), ("concrete", 25, 3.4), ("power", 41, 0.8)]
)
def test_numbers_of_repeated_rows_are_as_documented(name, repeats, twins, load_published):
    dataset = load_published(name)
    _, kind = np.unique(np.column_stack([dataset.x, dataset.y]), axis=0, return_inverse=True)
    kind = kind.ravel()
    assert len(kind) - len(np.unique(kind)) == repeats
    share = np.mean([np.isin(kind[split.test], kind[split.train]).mean() for split in dataset.splits])
    assert 100 * share == pytest.approx(twins, abs=0.5 if twins == 27 else 0.05)
    assert any(f"{repeats} rows" in note and f"{twins} %" in note for note in datasets.entry(name).notes)
