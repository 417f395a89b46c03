"""SVHN is read from the publisher's .mat files through torchvision."""

import hashlib
import io

import numpy as np
from scipy.io import savemat

from lockstep_bench import datasets
from lockstep_bench.datasets.images import svhn
from lockstep_bench.datasets.images.vision import torchvision


def mat(images, digits):
    """The published form: pixels (32, 32, 3, n), the digit 0 called 10."""
    body = io.BytesIO()
    savemat(body, {"X": images.transpose(2, 3, 1, 0), "y": np.where(digits == 0, 10, digits)[:, None].astype(np.uint8)})
    return body.getvalue()


def test_svhn_is_read_from_its_mat_files(tmp_path, small, pictures, monkeypatch, assert_loaded):
    train, test, y = pictures(20, (3, 32, 32)), pictures(6, (3, 32, 32)), np.arange(26) % 10
    files = {"train_32x32.mat": mat(train, y[:20]), "test_32x32.mat": mat(test, y[20:])}
    digests = {path: hashlib.md5(body, usedforsecurity=False).hexdigest() for path, body in files.items()}
    parts = {path.split("_")[0]: ["", path, digest] for path, digest in digests.items()}
    monkeypatch.setattr(torchvision().datasets.SVHN, "split_list", parts)
    small("svhn", files, n_rows=26)
    assert_loaded(datasets.load("svhn", tmp_path), train, test, y)


def test_file_digests_equal_those_in_torchvision():
    known = torchvision().datasets.SVHN.split_list
    assert [(file.path, file.md5) for file in svhn.SOURCE.files] == [
        tuple(known[part][1:]) for part in ("train", "test")
    ]
