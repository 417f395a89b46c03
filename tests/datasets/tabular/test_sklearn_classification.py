"""The sets that come with scikit-learn: shapes, classes, splits and the facts their notes state."""

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import Standardisation
from lockstep_bench.datasets.records import digest

# Rows, features and OOD rows; rows per class; rows to train and to test on.
FACTS = {
    "wdbc": ((569, 30, 0), [212, 357], (512, 57)),
    "wine-recognition": ((178, 13, 0), [59, 71, 48], (160, 18)),
    "digits": ((1797, 64, 0), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180], (1617, 180)),
    "digits-ood": ((901, 64, 896), [178, 182, 177, 183, 181], (811, 90)),
}
# Digests of the parsed values, as every result row carries them.
DATA_SHA256 = {
    "wdbc": "a13b6b99e4f17895d274fb4aeaa90bf2b1ecfcec79f7dd8fb8f0cd33557eda48",
    "wine-recognition": "11f110c56dfad8ace924d2b62a1c317556f5a182bf3978db42d974c3143619b6",
    "digits": "bdbc060ff7f6f2b83fc6d727e97fd14bb812c0d81e2b9a105d38c8176746fc3a",
    "digits-ood": "9f51716801eb5afa36478356006d9e9779ddaac829faad3a4efb2a5c375e3631",
}
# Digests of all 20 splits, train before test.
SPLITS_SHA256 = {
    "wdbc": "4936ec472553a941385b2f75998427a27cfce8e4ac793dc57e13883a2fa0a88c",
    "wine-recognition": "0ed1ccf635270f0e786c3017ceba3a75e528fd55d6f92f1bab24c6cc0105749d",
    "digits": "d709273e71cbe8e54beaa45bc292bc05d9d54a1efaad3d88a30cc00994b632ce",
    "digits-ood": "c2722f583ccd15c753090fe030203a4358bc64ad54b67d2664573d370c70a616",
}


@pytest.fixture(params=FACTS)
def name(request):
    return request.param


def test_data_sets_have_their_documented_shapes_classes_and_splits(tmp_path, name):
    assert datasets.availability(name, tmp_path, deep=True) == ("ready", "needs no files", "")
    dataset = datasets.load(name, tmp_path)
    (rows, features, ood), counts, parts = FACTS[name]
    assert (dataset.x.shape, dataset.ood.shape) == ((rows, features), (ood, features))
    assert np.bincount(dataset.y.astype(int)).tolist() == counts
    assert len(dataset.splits) == len(set(dataset.split_sha256)) == 20
    for split in dataset.splits:
        assert (len(split.train), len(split.test)) == parts
        assert np.array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(rows))
        assert len(set(dataset.y[split.train])) == len(set(dataset.y[split.test])) == len(counts)
    assert dataset.data_sha256 == DATA_SHA256[name]
    assert digest(*(rows for split in dataset.splits for rows in (split.train, split.test))) == SPLITS_SHA256[name]


def test_no_data_set_has_repeated_rows(name):
    dataset = datasets.load(name)
    everything = np.vstack([dataset.x, dataset.ood])
    assert len(np.unique(everything, axis=0)) == len(everything)


def test_every_split_is_standardised_to_finite_values(name):
    dataset = datasets.load(name)
    for split in dataset.splits:
        mean, scale = Standardisation.of(dataset.x, split.train)
        assert np.isfinite((dataset.x - mean) / scale).all()
        assert np.isfinite((dataset.ood - mean) / scale).all()


def test_three_pixels_of_digits_are_constant():
    for name in ("digits", "digits-ood"):
        assert np.flatnonzero(np.ptp(datasets.load(name).x, axis=0) == 0).tolist() == [0, 32, 39]
        assert any("Features 0, 32 and 39" in note for note in datasets.entry(name).notes)


def test_the_two_sets_of_digits_hold_the_same_images():
    digits, ood = datasets.load("digits"), datasets.load("digits-ood")
    np.testing.assert_array_equal(ood.x, digits.x[digits.y < 5])
    np.testing.assert_array_equal(ood.y, digits.y[digits.y < 5])
    np.testing.assert_array_equal(ood.ood, digits.x[digits.y >= 5])


def test_malignant_is_class_0_in_wdbc_and_1_in_breast_cancer():
    assert any("Class 0 is malignant" in note for note in datasets.entry("wdbc").notes)
    assert any("Class 1 is malignant" in note for note in datasets.entry("breast-cancer").notes)
    assert [(datasets.load("wdbc").y == label).sum() for label in (0, 1)] == [212, 357]
