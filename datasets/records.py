"""The records of this package: what a source promises (`Source`) and what loading it gives (`Dataset`)."""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np


class File(NamedTuple):
    """One published file, pinned by its digest."""

    path: str  # below the source's folder and, unless it is `within` another, below its base URL; forward slashes
    bytes: int | None  # None where nobody has published it
    sha256: str = ""  # hex
    md5: str = ""  # hex, where the publisher gives no better digest
    within: Self | None = None  # the .tar.gz it is published in, under the same path, or the .gz of it alone

    @property
    def checksum(self) -> tuple[str, str] | None:
        """Algorithm, as `hashlib` calls it, and hex digest; None for a file that is not pinned."""
        if self.sha256:
            return "sha256", self.sha256
        return ("md5", self.md5) if self.md5 else None


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train, test and validate on; 0-based, disjoint, read-only.

    train: int64 (N_train,).
    test: int64 (N_test,).
    validation: int64 (N_validation,); (0,) for a set whose validation rows are cut from its train rows by who tunes.
    """

    train: np.ndarray
    test: np.ndarray
    validation: np.ndarray = ()

    def __post_init__(self):
        for part in ("train", "test", "validation"):
            object.__setattr__(self, part, _frozen(getattr(self, part), np.int64))

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the index arrays, order included; of train and test alone where there are no others."""
        return digest(self.train, self.test, *([self.validation] if len(self.validation) else []))


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded set: arrays in original units, read-only, with its fixed splits.

    name: its key in the registry.
    x: features, float64 (N, P); the pixels of images, uint8 (N, C * H * W), channel by channel and row by row.
    y: float64 (N,): targets of a regression, else class numbers 0 to C - 1.
    splits: the fixed splits of the N rows.
    ood: features of out-of-distribution rows, (n_ood, P) of x's type, never trained on; (0, P) where there are none,
        which None becomes.
    image: channels, height and width (C, H, W) of images, else None. Pixels are taken over and not copied, as they may
        fill half the memory: who hands them in must not write to them again.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    splits: tuple[Split, ...]
    ood: np.ndarray | None = None
    image: tuple[int, int, int] | None = None

    def __post_init__(self):
        features = _features if self.image is None else _pixels
        object.__setattr__(self, "x", features(self.x))
        object.__setattr__(self, "y", _frozen(self.y, np.float64))
        object.__setattr__(self, "splits", tuple(self.splits))
        ood = np.empty((0, *self.x.shape[1:]), self.x.dtype) if self.ood is None else self.ood
        object.__setattr__(self, "ood", features(ood))

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


class Contents(Mapping[str, bytes]):
    """What a reader is given: the verified contents of a set's files, by `File.path`."""

    @abstractmethod
    def folder(self) -> Path:
        """The set's own folder, for libraries that open files themselves, after every file in it was verified."""


Reader = Callable[[Contents], Arrays | ArraysWithOOD]

OOD_GROUPS = ("near", "far")


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
    read: the verified contents of the files, keyed by `File.path`, to (x (N, P), y (N,), splits), followed by
        ood (n_ood, P) where there are such rows; a pure function. See `Dataset`, and `Contents` for the folder itself,
        which libraries that open files themselves want.
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
    image: channels, height and width (C, H, W) of a set of images, whose n_features is C * H * W.
    mirrored: whether an image's mirror image, and one that is a little moved, shows the same class just as naturally:
        then training images are.
    ood_groups: other sets of images, none of whose classes are this set's, by how near they are: "near" for the same
        kind of picture, "far" for another kind.
    validation_ood: such sets to choose with; none of them is in a group, so that no choice has seen what tests it.
    by_hand: what a person must do to get the files, where they cannot be downloaded.
    listing: from the set's own folder to the files there should be, for files that nobody may publish a digest of or
        hand on; then `files` is empty. It may raise `Fault`.
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
    image: tuple[int, int, int] | None = None
    mirrored: bool = False
    ood_groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    validation_ood: tuple[str, ...] = ()
    by_hand: str = ""
    listing: Callable[[Path], tuple[File, ...]] | None = field(default=None, repr=False)

    def __post_init__(self):
        if self.task not in TASKS:
            raise ValueError(f"dataset {self.name!r}: task should be one of {', '.join(TASKS)}, got {self.task!r}")
        wanted, fits = TASKS[self.task]
        if not fits(self.n_classes):
            what = f"n_classes of a {self.task} task"
            raise ValueError(f"dataset {self.name!r}: {what} should be {wanted}, got {self.n_classes!r}")
        if not isinstance(self.n_ood, int) or self.n_ood < 0:
            raise ValueError(f"dataset {self.name!r}: n_ood should be 0 or more, got {self.n_ood!r}")
        if unpinned := [file.path for file in self.files if not file.checksum]:
            raise ValueError(
                f"dataset {self.name!r}: files should have a sha256 or an md5, {unpinned[0]!r} has neither"
            )
        self._check_images()

    def _check_images(self) -> None:
        others = [name for group in self.ood_groups.values() for name in group] + [*self.validation_ood]
        if self.image is None:
            if others:
                raise ValueError(f"dataset {self.name!r}: only a set of images can have ood_groups and validation_ood")
            return
        if len(self.image) != 3 or self.image[0] not in (1, 3) or min(self.image) < 1:
            wanted = "1 or 3 channels, a height and a width"
            raise ValueError(f"dataset {self.name!r}: image should be {wanted}, got {self.image!r}")
        if self.n_features != math.prod(self.image):
            wanted = f"{math.prod(self.image)} for images of shape {self.image}"
            raise ValueError(f"dataset {self.name!r}: n_features should be {wanted}, got {self.n_features!r}")
        if unknown := self.ood_groups.keys() - {*OOD_GROUPS}:
            raise ValueError(f"dataset {self.name!r}: ood_groups should be among {OOD_GROUPS}, got {min(unknown)!r}")
        if twice := {name for name in others if [self.name, *others].count(name) > 1}:
            once = "itself, in two groups, or in a group and in validation_ood"
            raise ValueError(f"dataset {self.name!r}: it should not name a set that is {once}, got {min(twice)!r}")

    @property
    def needs_download(self) -> bool:
        """Whether the set consists of files that have to be got."""
        return bool(self.files or self.listing)


def digest(*arrays: np.ndarray) -> str:
    """SHA-256 (hex) of shapes and values, independent of memory layout and byte order."""
    state = hashlib.sha256()
    for array in arrays:
        little_endian = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        state.update(f"{little_endian.dtype.str}{little_endian.shape}".encode())
        state.update(little_endian.reshape(-1))
    return state.hexdigest()


def _features(values) -> np.ndarray:
    return _frozen(values, np.float64)


def _pixels(values) -> np.ndarray:
    array = np.ascontiguousarray(values)
    if array.dtype != np.uint8:
        raise ValueError(f"pixels should be uint8, got {array.dtype}")
    view = array.view(np.ndarray)
    view.setflags(write=False)
    return view


def _frozen(values, dtype) -> np.ndarray:
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array
