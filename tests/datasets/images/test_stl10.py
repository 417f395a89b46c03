"""STL-10's labelled part is read through torchvision, without the unlabelled images."""

import hashlib

import numpy as np

from lockstep_bench import datasets
from lockstep_bench.datasets.images import stl10
from lockstep_bench.datasets.images.vision import torchvision


def test_stl10_is_read_from_its_binary_files(tmp_path, small, pictures, monkeypatch, assert_loaded):
    train, test, y = pictures(20, (3, 96, 96)), pictures(6, (3, 96, 96)), np.arange(26) % 10
    # The published form: each channel column by column, classes from 1.
    files = {
        "train_X.bin": train.transpose(0, 1, 3, 2).tobytes(),
        "train_y.bin": (y[:20] + 1).astype(np.uint8).tobytes(),
        "test_X.bin": test.transpose(0, 1, 3, 2).tobytes(),
        "test_y.bin": (y[20:] + 1).astype(np.uint8).tobytes(),
    }
    digests = [[path, hashlib.md5(body, usedforsecurity=False).hexdigest()] for path, body in files.items()]
    monkeypatch.setattr(torchvision().datasets.STL10, "train_list", [*digests[:2], ["unlabeled_X.bin", "not there"]])
    monkeypatch.setattr(torchvision().datasets.STL10, "test_list", digests[2:])
    small("stl10", {f"stl10_binary/{path}": body for path, body in files.items()}, n_rows=26)
    assert_loaded(datasets.load("stl10", tmp_path), train, test, y)


def test_file_digests_equal_those_in_torchvision():
    known = torchvision().datasets.STL10
    wanted = [*known.train_list[:2], *known.test_list]
    assert [[file.path.removeprefix("stl10_binary/"), file.md5] for file in stl10.SOURCE.files] == wanted
    assert (stl10.TAR.path, stl10.TAR.md5) == (known.filename, known.tgz_md5)
