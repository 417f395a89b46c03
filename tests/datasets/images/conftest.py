"""Small sets on disk in the published form, pinned by their own digests in place of the published ones."""

import dataclasses
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import registry


@pytest.fixture
def small(tmp_path, monkeypatch):
    """`small(name, files, **changes)`: put these files (by path) in the set's folder below tmp_path, and pin them."""

    def small(name: str, files: dict[str, bytes], **changes) -> datasets.Source:
        source = datasets.entry(name)

        def pinned(file):
            body = files[file.path]
            algorithm, _ = file.checksum
            digest = hashlib.new(algorithm, body, usedforsecurity=False).hexdigest()
            return file._replace(bytes=len(body), **{algorithm: digest})

        for path, body in files.items():
            place(tmp_path / source.folder / path, body)
        changed = dataclasses.replace(source, files=tuple(pinned(file) for file in source.files), **changes)
        everything = registry._built_in() | {name: changed}
        monkeypatch.setattr(registry, "_built_in", lambda: everything)
        return changed

    return small


def place(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


@pytest.fixture
def pictures():
    """`pictures(n, image)`: random pixels, uint8 (n, C, H, W)."""
    generator = np.random.default_rng(0)
    return lambda n, image: generator.integers(0, 256, (n, *image), np.uint8)


@pytest.fixture
def idx():
    """`idx(array)`: an array of bytes in the idx format."""

    def idx(array: np.ndarray) -> bytes:
        return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()

    return idx


@pytest.fixture
def assert_loaded():
    """`assert_loaded(dataset, train, test, y)`: train images, then test images, channel by channel, and fit splits."""
    return _assert_loaded


def _assert_loaded(dataset: datasets.Dataset, train: np.ndarray, test: np.ndarray, y) -> None:
    everything = np.concatenate([train, test])
    np.testing.assert_array_equal(dataset.x, everything.reshape(len(everything), -1))
    np.testing.assert_array_equal(dataset.y, y)
    assert (dataset.x.dtype, dataset.x.flags.writeable) == (np.uint8, False)
    assert len(dataset.splits) == 5
    for split in dataset.splits:
        assert split.test.tolist() == list(range(len(train), len(everything)))
        assert sorted([*split.train, *split.validation]) == list(range(len(train)))
        assert len(split.validation) == round(len(train) / 10)
    assert len({tuple(split.validation) for split in dataset.splits}) > 1
