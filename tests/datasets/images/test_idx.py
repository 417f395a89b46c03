"""Sets in MNIST's form are read from the files that torchvision has on disk."""

import gzip

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.images.idx import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS
from lockstep_bench.datasets.images.vision import torchvision

SIZES = {"n_rows": 26}
CLASSES = {"mnist": "MNIST", "fashion-mnist": "FashionMNIST", "kmnist": "KMNIST"}


@pytest.fixture
def parts(pictures):
    """Images and labels to train on and to test on."""
    return (pictures(20, (1, 28, 28)), np.arange(20) % 10), (pictures(6, (1, 28, 28)), np.arange(6))


@pytest.fixture
def files(parts, idx):
    (train, train_labels), (test, test_labels) = parts
    return {
        TRAIN_IMAGES: idx(train[:, 0]),
        TRAIN_LABELS: idx(train_labels),
        TEST_IMAGES: idx(test[:, 0]),
        TEST_LABELS: idx(test_labels),
    }


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_unpacked_idx_files_are_read(tmp_path, small, files, parts, assert_loaded, name):
    small(name, files, **SIZES)
    (train, train_labels), (test, test_labels) = parts
    dataset = datasets.load(name, tmp_path)
    assert dataset.image == (1, 28, 28)
    assert_loaded(dataset, train, test, [*train_labels, *test_labels])


def test_kmnist_is_read_only_from_gzip_files(tmp_path, small, files, parts, assert_loaded):
    small("kmnist", {f"{path}.gz": gzip.compress(body) for path, body in files.items()}, **SIZES)
    # As torchvision leaves it, but for another's unpacked file.
    (tmp_path / "torchvision/KMNIST/raw" / TRAIN_IMAGES).write_bytes(b"not verified")
    (train, train_labels), (test, test_labels) = parts
    assert_loaded(datasets.load("kmnist", tmp_path), train, test, [*train_labels, *test_labels])


def test_files_processed_by_old_torchvision_are_ignored(tmp_path, small, files, parts, assert_loaded):
    import torch

    small("mnist", files, **SIZES)
    old = tmp_path / "torchvision/MNIST/processed"
    old.mkdir()
    for part in ("training", "test"):
        torch.save((torch.zeros(3, 28, 28, dtype=torch.uint8), torch.zeros(3)), old / f"{part}.pt")
    (train, train_labels), (test, test_labels) = parts
    assert_loaded(datasets.load("mnist", tmp_path), train, test, [*train_labels, *test_labels])


def test_notmnist_has_one_file_and_no_splits(tmp_path, small, files, parts):
    small("notmnist", {path: files[path] for path in (TEST_IMAGES, TEST_LABELS)}, n_rows=6, n_classes=6)
    dataset = datasets.load("notmnist", tmp_path)
    np.testing.assert_array_equal(dataset.x, parts[1][0].reshape(6, -1))
    assert (dataset.y.tolist(), dataset.splits) == ([0, 1, 2, 3, 4, 5], ())


def test_idx_file_with_a_wrong_digest_is_refused(tmp_path, small, files):
    small("mnist", files, **SIZES)
    path = tmp_path / "torchvision/MNIST/raw" / TRAIN_LABELS
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    with pytest.raises(datasets.Unavailable, match=r"train-labels-idx1-ubyte is not the published file \(SHA-256"):
        datasets.load("mnist", tmp_path)


@pytest.mark.parametrize("name", CLASSES)
def test_file_digests_equal_those_in_torchvision(name):
    known = dict(getattr(torchvision().datasets, CLASSES[name]).resources)
    files = datasets.entry(name).files
    assert {(file.within or file).path: (file.within or file).md5 for file in files} == known


PUBLISHED = {
    "mnist": (
        "61c073f115800efd2b2dac04b04af684e3308aba541dec157f547345c66e4707",
        5,
        0.1307,
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    ),
    "fashion-mnist": ("54e6c06e0761d76e30b6c1f8d1d70100583af6ca8fbdfd1b2ac7641ba6bdc374", 9, 0.2860, [1000] * 10),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_have_known_pixels_and_labels(name, require_data):
    require_data(name)
    dataset = datasets.load(name)
    digest, label, mean, counts = PUBLISHED[name]
    assert dataset.y[0] == label
    # The mean of the train part by which everybody standardises, a share of the brightest level.
    assert dataset.x[:60000].mean() / 255 == pytest.approx(mean, abs=5e-5)
    assert np.bincount(dataset.y[60000:].astype(int)).tolist() == counts
    assert dataset.data_sha256 == digest
    assert dataset.split_sha256[0] == "fbba0bcf0107178c8a8d320905f7b8a9ef99053f040b137abc7b59e28708f4da"
