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
    """A loaded set: arrays in original units, read-only, with its fixed splits.

    name: its key in the registry.
    x: features, float64 (N, P).
    y: float64 (N,): targets of a regression, else class numbers 0 to C - 1.
    splits: the fixed splits of the N rows.
    ood: features of out-of-distribution rows, float64 (n_ood, P), never trained on; (0, P) where there are none, which
        None becomes.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    splits: tuple[Split, ...]
    ood: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "x", _frozen(self.x, np.float64))
        object.__setattr__(self, "y", _frozen(self.y, np.float64))
        object.__setattr__(self, "splits", tuple(self.splits))
        ood = np.empty((0, *self.x.shape[1:])) if self.ood is None else self.ood
        object.__setattr__(self, "ood", _frozen(ood, np.float64))

    @cached_property
    def data_sha256(self) -> str:
        """Hex digest of the values of x, y and, where there are any, the OOD rows; the same on every machine."""
        return digest(self.x, self.y, self.ood) if len(self.ood) else digest(self.x, self.y)

    @property
    def split_sha256(self) -> tuple[str, ...]:
        """Hex digest of each split."""
        return tuple(split.sha256 for split in self.splits)


# Each kind of task, what its number of classes has to be, and whether one is that.
TASKS = {
    "regression": ("None", lambda n: n is None),
    "binary": ("2", lambda n: n == 2),
    "multiclass": ("3 or more", lambda n: isinstance(n, int) and n >= 3),
}
Arrays = tuple[np.ndarray, np.ndarray, tuple[Split, ...]]  # x, y, splits
ArraysWithOOD = tuple[np.ndarray, np.ndarray, tuple[Split, ...], np.ndarray]  # x, y, splits, ood
Reader = Callable[[Mapping[str, bytes]], Arrays | ArraysWithOOD]


class Model(NamedTuple):
    """A Bayesian model whose posterior is known, or can be sampled, and is what methods are compared with.

    prior_precision: alpha of the prior N(0, I / alpha) of every weight.
    noise_precision: beta, in original target units; None for classes. Both None: those of maximal evidence.
    hidden: units of each hidden layer of the network, which then has biases; () for a linear model without.
    standardise: whether features are standardised, and targets centred, by the rows that a model is fitted to.
    effort: how many times the protocol's epochs its fits take, as some papers train some sets longer.
    """

    prior_precision: float | None
    noise_precision: float | None
    hidden: tuple[int, ...] = ()
    standardise: bool = True
    effort: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Source:
    """What is known about a set before it is loaded; ValueError where its task and its classes contradict each other.

    name: key in the registry; lower-case.
    title: name for people.
    n_rows, n_features, n_splits: what loading must give; checked.
    origin: who collected the data, and where it was published.
    licence: as stated by the publisher.
    read: the verified contents of `files`, keyed by `File.path`, to (x (N, P), y (N,), splits), followed by
        ood (n_ood, P) where there are such rows; a pure function. See `Dataset`.
    notes: short sentences on facts that bite whoever reads the results.
    task: "regression", "binary" or "multiclass".
    n_classes: number of classes C: 2 for a binary task, 3 or more for a multiclass one, None for a regression.
    n_ood: number of out-of-distribution rows; checked.
    suites: the suites that run it.
    noise_precisions: for regression, the plausible range of 1 / noise variance, in original target units; tuning
        searches it log-uniformly.
    model: whose posterior is the truth, for the suites that compare with one.
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
    n_classes: int | None = None
    n_ood: int = 0
    suites: tuple[str, ...] = ()
    noise_precisions: tuple[float, float] = (0.01, 1.0)
    model: Model | None = None
    files: tuple[File, ...] = field(default=(), repr=False)
    folder: str = ""
    base_url: str = ""

    def __post_init__(self):
        if self.task not in TASKS:
            raise ValueError(f"dataset {self.name!r}: task should be one of {', '.join(TASKS)}, got {self.task!r}")
        wanted, fits = TASKS[self.task]
        if not fits(self.n_classes):
            what = f"n_classes of a {self.task} task"
            raise ValueError(f"dataset {self.name!r}: {what} should be {wanted}, got {self.n_classes!r}")
        if not isinstance(self.n_ood, int) or self.n_ood < 0:
            raise ValueError(f"dataset {self.name!r}: n_ood should be 0 or more, got {self.n_ood!r}")

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
