"""CIFAR is read from the publisher's pickles through torchvision, which compares their digests as well."""

import hashlib
import pickle

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets.images import cifar
from lockstep_bench.datasets.images.vision import torchvision

IMAGE = (3, 32, 32)


def batch(images, labels, key):
    return pickle.dumps({"data": images.reshape(len(images), -1), key: list(labels)})


def md5(body):
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


@pytest.fixture
def expected(monkeypatch):
    """`expected(cls, train, test, meta)`: make torchvision expect these files, by name, for the published ones."""

    def expected(cls, train, test, meta):
        known = getattr(torchvision().datasets, cls)
        for name, files in (("train_list", train), ("test_list", test)):
            monkeypatch.setattr(known, name, [[path, md5(body)] for path, body in files.items()])
        monkeypatch.setattr(known, "meta", known.meta | {"md5": md5(meta)})

    return expected


@pytest.fixture
def cifar10(small, expected, pictures):
    """A small CIFAR-10 on disk: images to train on, to test on, and all labels."""
    train, test = pictures(20, IMAGE), pictures(6, IMAGE)
    y = np.arange(26) % 10
    batches = {f"data_batch_{k + 1}": batch(train[4 * k : 4 * k + 4], y[4 * k : 4 * k + 4], "labels") for k in range(5)}
    last, meta = {"test_batch": batch(test, y[20:], "labels")}, pickle.dumps({"label_names": list("abcdefghij")})
    expected("CIFAR10", batches, last, meta)
    files = batches | last | {"batches.meta": meta}
    small("cifar10", {f"cifar-10-batches-py/{path}": body for path, body in files.items()}, n_rows=26)
    return train, test, y


def test_cifar10_is_read_from_its_pickles(tmp_path, cifar10, assert_loaded):
    train, test, y = cifar10
    assert_loaded(datasets.load("cifar10", tmp_path), train, test, y)


def test_cifar100_uses_the_fine_labels(tmp_path, small, expected, pictures, assert_loaded):
    train, test = pictures(100, IMAGE), pictures(2, IMAGE)
    files = {
        "train": batch(train, np.arange(100), "fine_labels"),
        "test": batch(test, [7, 8], "fine_labels"),
        "meta": pickle.dumps({"fine_label_names": [str(k) for k in range(100)]}),
    }
    expected("CIFAR100", {"train": files["train"]}, {"test": files["test"]}, files["meta"])
    small("cifar100", {f"cifar-100-python/{path}": body for path, body in files.items()}, n_rows=102)
    assert_loaded(datasets.load("cifar100", tmp_path), train, test, [*range(100), 7, 8])


def test_pickle_with_a_wrong_digest_is_never_opened(tmp_path, cifar10):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "opened"), "w"))

    path = tmp_path / "torchvision/cifar-10-batches-py/test_batch"
    size = path.stat().st_size
    path.write_bytes(pickle.dumps(Trap()).ljust(size, b"\0"))
    with pytest.raises(datasets.Unavailable, match=r"test_batch is not the published file \(MD5 expected"):
        datasets.load("cifar10", tmp_path)
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(("cls", "files"), [("CIFAR10", cifar.CIFAR10_FILES), ("CIFAR100", cifar.CIFAR100_FILES)])
def test_file_digests_equal_those_in_torchvision(cls, files):
    known = getattr(torchvision().datasets, cls)
    tar = {"CIFAR10": cifar.CIFAR10_TAR, "CIFAR100": cifar.CIFAR100_TAR}[cls]
    assert files == dict([*known.train_list, *known.test_list, (known.meta["filename"], known.meta["md5"])])
    assert (tar.path, tar.md5, f"{cifar.URL}{tar.path}") == (known.filename, known.tgz_md5, known.url)
