"""The records of this package: what a source promises (`Source`) and what loading it gives (`Dataset`)."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np


class File(NamedTuple):
    """One published file, pinned by its digest."""

    path: str  # below the source's folder on disk and below its base URL on the web, with forward slashes
    bytes: int
    sha256: str  # hex


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, int64 (N_train,), and rows to test on, int64 (N_test,); 0-based, read-only."""

    train: np.ndarray
    test: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "train", _frozen(self.train, np.int64))
        object.__setattr__(self, "test", _frozen(self.test, np.int64))

    @cached_property
    def sha256(self) -> str:
        """Hex digest of both index arrays, order included."""
        return digest(self.train, self.test)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded set: x float64 (N, P) and y float64 (N,) in original units, read-only, with its fixed splits."""

    name: str
    x: np.ndarray
    y: np.ndarray
    splits: tuple[Split, ...]

    def __post_init__(self):
        object.__setattr__(self, "x", _frozen(self.x, np.float64))
        object.__setattr__(self, "y", _frozen(self.y, np.float64))
        object.__setattr__(self, "splits", tuple(self.splits))

    @cached_property
    def data_sha256(self) -> str:
        """Hex digest of the values of x and y, the same on every machine."""
        return digest(self.x, self.y)

    @property
    def split_sha256(self) -> tuple[str, ...]:
        """Hex digest of each split."""
        return tuple(split.sha256 for split in self.splits)


Reader = Callable[[Mapping[str, bytes]], tuple[np.ndarray, np.ndarray, tuple[Split, ...]]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """What is known about a set before it is loaded.

    name: key in the registry; lower-case.
    title: name for people.
    n_rows, n_features, n_splits: what loading must give; checked.
    origin: who collected the data, and where it was published.
    licence: as stated by the publisher.
    read: the verified contents of `files`, keyed by `File.path`, to (x (N, P), y (N,), splits); a pure function.
    notes: short sentences on facts that bite whoever reads the results.
    task: kind of problem.
    suites: the suites that run it.
    noise_precisions: for regression, the plausible range of 1 / noise variance, in original target units; tuning
        searches it log-uniformly.
    files: the pinned files, none for a set that comes with an installed package.
    folder: where the files lie below the data folder.
    base_url: https address that the files' paths continue.
    """

    name: str
    title: str
    n_rows: int
    n_features: int
    n_splits: int
    origin: str
    licence: str
    read: Reader = field(repr=False)
    notes: tuple[str, ...] = ()
    task: str = "regression"
    suites: tuple[str, ...] = ()
    noise_precisions: tuple[float, float] = (0.01, 1.0)
    files: tuple[File, ...] = field(default=(), repr=False)
    folder: str = ""
    base_url: str = ""

    @property
    def needs_download(self) -> bool:
        """Whether the set consists of files that have to be fetched."""
        return bool(self.files)


def digest(*arrays: np.ndarray) -> str:
    """SHA-256 (hex) of shapes and values, independent of memory layout and byte order."""
    state = hashlib.sha256()
    for array in arrays:
        little_endian = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        state.update(f"{little_endian.dtype.str}{little_endian.shape}".encode())
        state.update(little_endian.tobytes())
    return state.hexdigest()


def _frozen(values, dtype) -> np.ndarray:
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array
