"""Records of this package: the description of a data set (`Source`) and the loaded arrays (`Dataset`)."""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike


class File(NamedTuple):
    """One published file, with the checksum that its contents must have.

    Attributes:
        path: relative path with forward slashes, below the data set's folder. Unless the file is `within` another file,
            its download address is the data set's base URL followed by `address`, or by this path if `address` is "".
        bytes: size; None where nobody has published it.
        sha256: hex digest; "" where only the MD5 is published.
        md5: hex digest, for files whose publisher gives no SHA-256.
        within: archive in which the file is published: a .tar.gz that contains it under the same path, or a .gz of this
            file alone.
        address: text appended to the base URL, if it is not `path`.
    """

    path: str
    bytes: int | None
    sha256: str = ""
    md5: str = ""
    within: "File | None" = None
    address: str = ""

    @property
    def checksum(self) -> tuple[str, str] | None:
        """Name of the hash algorithm in `hashlib`, and the hex digest; None for a file without a known checksum."""
        if self.sha256:
            return "sha256", self.sha256
        return ("md5", self.md5) if self.md5 else None


@dataclass(frozen=True, eq=False)
class Split:
    """Rows for training, testing and validation: 0-based, disjoint, read-only.

    Attributes:
        train: int64 (N_train,), rows to train on.
        test: int64 (N_test,), rows to test on.
        validation: int64 (N_validation,), rows to tune on; (0,) for a data set without fixed validation rows, which is
            tuned by cross-validation on the training rows.
        feature: column of x whose values decide which rows are test rows (`Source.along_features`); None for other
            splits.
        inputs: int64 (P',), columns of x that fits of this split use as inputs; None for all columns.
    """

    train: np.ndarray
    test: np.ndarray
    validation: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    feature: int | None = None
    inputs: np.ndarray | None = None

    def __post_init__(self) -> None:
        for part in ("train", "test", "validation"):
            rows = np.asarray(getattr(self, part))
            if rows.size and rows.dtype.kind not in "iu":  # an empty list becomes an array of floats
                raise ValueError(f"the {part} rows of a split should be integers, got {rows.dtype}")
            object.__setattr__(self, part, _frozen(rows, np.int64))
        if self.inputs is not None:
            object.__setattr__(self, "inputs", _frozen(self.inputs, np.int64))

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the index arrays, order included; an empty validation part does not count."""
        return digest(self.train, self.test, *([self.validation] if len(self.validation) else []))


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded data set: read-only arrays in original units, with the fixed splits.

    An array of pixels is not copied, because it may fill half of the memory. The caller must not change it afterwards.

    Attributes:
        name: key in the registry.
        x: features, float64 (N, P); for images the pixels, uint8 (N, C * H * W), channel by channel and row by row.
        y: float64 (N,): targets of a regression, otherwise class numbers 0 to C - 1.
        splits: fixed splits of the N rows.
        ood: features of out-of-distribution rows, (n_ood, P), with the dtype of x; never trained on. (0, P) by default.
        image: channels, height and width (C, H, W) of images, otherwise None.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    splits: tuple[Split, ...]
    ood: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    image: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        features = _numbers if self.image is None else _pixels
        object.__setattr__(self, "x", features(self.x))
        object.__setattr__(self, "y", _numbers(self.y))
        object.__setattr__(self, "splits", tuple(self.splits))
        ood = self.ood if len(self.ood) else np.empty((0, *self.x.shape[1:]), self.x.dtype)
        object.__setattr__(self, "ood", features(ood))

    @cached_property
    def data_sha256(self) -> str:
        """Hex digest of the values of x, y and any out-of-distribution rows; equal on every machine."""
        return digest(self.x, self.y, self.ood) if len(self.ood) else digest(self.x, self.y)

    @property
    def split_sha256(self) -> tuple[str, ...]:
        """SHA-256 (hex) of the row numbers of each split."""
        return tuple(split.sha256 for split in self.splits)


# What the splits of a set share, by name.
SPLIT_SCHEMES = {
    "resampled": "all take their training and test rows from the same rows: random parts, or folds",
    "drawn": "nothing: each has rows of its own",
    "one test part": "all have the same test rows",
    "gaps": "all use the same rows; split k tests on the middle third of the rows sorted by feature k",
    "tails": "all use the same rows; split k tests on the outer sixths of the rows sorted by feature k",
}

# By task: the allowed n_classes in words, and whether a number is allowed.
TASKS: dict[str, tuple[str, Callable[[int | None], bool]]] = {
    "regression": ("None", lambda n: n is None),
    "binary": ("2", lambda n: n == 2),
    "multiclass": ("3 or more", lambda n: isinstance(n, int) and n >= 3),
}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_text, value))


def _are_flags(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, int) and _is_text(value[key]) for key in value)


def _is_range(value: Any) -> bool:
    try:
        low, high = value
        return bool(0 < low <= high < math.inf)
    except (TypeError, ValueError):
        return False


# By field of a `Source`: the allowed values in words, and whether a value is allowed.
FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(
        ("title", "origin", "licence", "rows_of", "impute", "folder", "base_url", "by_hand"), ("a string", _is_text)
    ),
    **dict.fromkeys(("n_rows", "n_features"), ("1 or more", lambda n: isinstance(n, int) and n >= 1)),
    **dict.fromkeys(("n_splits", "n_ood"), ("0 or more", lambda n: isinstance(n, int) and n >= 0)),
    **dict.fromkeys(("notes", "suites", "command", "validation_ood", "same_as"), ("a tuple of strings", _are_texts)),
    "read": ("a function", callable),
    "noise_precisions": (
        "two numbers, 0 < lowest <= highest < infinity, or None",
        lambda value: value is None or _is_range(value),
    ),
    "flagged": ("a mapping of split numbers to reasons", _are_flags),
    "listing": ("a function or None", lambda value: value is None or callable(value)),
}
Arrays = tuple[np.ndarray, np.ndarray, tuple[Split, ...]]  # x, y, splits
ArraysWithOOD = tuple[np.ndarray, np.ndarray, tuple[Split, ...], np.ndarray]  # x, y, splits, ood


class Contents(Mapping[str, bytes]):
    """Verified contents of a data set's files, path (`File.path`) -> bytes; the argument of `Source.read`."""

    @abstractmethod
    def folder(self) -> Path:
        """Verify every file and return the data set's folder, for libraries that open files themselves.

        Returns:
            The folder to which the paths of the files are relative.

        Raises:
            Fault: a file is missing or differs from the published one.
        """


Reader = Callable[[Contents], Arrays | ArraysWithOOD]

OOD_GROUPS = ("near", "far")


class Model(NamedTuple):
    """A Bayesian model whose true posterior is known or sampled; methods are compared with this reference posterior.

    Attributes:
        prior_precision: alpha of the prior N(0, I / alpha) over the weights.
        noise_precision: beta, in original target units; None for classification. If both precisions are None, the
            values that maximise the evidence are used.
        hidden: number of units of each hidden layer of a network with biases; () for a linear model, without bias
            unless `bias`.
        standardise: whether to standardise the features and centre the targets, by the statistics of the training rows.
        effort: factor on the protocol's number of epochs, for data sets that a paper trains longer.
        bias: whether a linear regression has a bias, the last weight. Methods give the bias the same prior as the other
            weights. The reference posterior gives it a flat prior, as scikit-learn's BayesianRidge does. For the bias,
            only posterior means are compared.
    """

    prior_precision: float | None
    noise_precision: float | None
    hidden: tuple[int, ...] = ()
    standardise: bool = True
    effort: float = 1.0
    bias: bool = False


@dataclass(frozen=True, kw_only=True)
class Source:
    """Description of a data set, available before the data are loaded.

    Attributes:
        name: key in the registry, in lower case.
        title: display name.
        n_rows: N, the number of rows; checked at loading.
        n_features: P, the number of features; checked at loading.
        n_splits: number of fixed splits; checked at loading.
        origin: who collected the data, and where they were published.
        licence: licence as stated by the publisher.
        read: pure function from the verified `Contents` to (x (N, P), y (N,), splits), or to (x, y, splits, ood (n_ood,
            P)) for a data set with out-of-distribution rows; see `Dataset`.
        notes: short sentences on facts that a reader of the results must know.
        split_scheme: how the splits are related, a key of `SPLIT_SCHEMES`; statistical tests over splits depend on it.
        rows_of: name of another data set that has the same rows and features, and differs only in its splits; "" if
            there is none.
        same_as: names of other data sets that were made from the same rows, whatever their targets, inputs and splits.
            Rankings over several suites use only one of them.
        flagged: split number -> reason why the split does not test what its scheme says, such as "no real gap". Such
            splits are run only if the user asks for them, and are left out of rankings.
        task: "regression", "binary" or "multiclass".
        n_classes: number of classes C: 2 for a binary task, 3 or more for a multiclass task, None for a regression.
        n_ood: number of out-of-distribution rows; checked at loading.
        suites: names of the suites (collections of data sets) that contain this data set.
        noise_precisions: plausible range of 1 / noise variance for a regression, in original target units; tuning
            searches it log-uniformly. The default is for targets with a standard deviation of about 10; a run warns if
            the range does not suit the targets. With None, each split's range is computed from its training targets by
            `datasets.standardise.noise_precisions`.
        impute: "median" if x may hold NaN: each fit fills them with the medians of its own training rows. "" otherwise.
        command: options of `run_all.py` that select this data set, if it is a user's table that no package registers.
        model: model of the reference posterior, for suites that compare posteriors with it.
        files: the files with their checksums; () for a data set that comes with an installed package.
        folder: folder of the files below the data folder.
        base_url: https address to which the paths of the files are appended.
        image: channels, height and width (C, H, W) of the images of an image data set; n_features is then C * H * W.
        mirrored: whether training images are mirrored and shifted at random. This suits data sets whose classes stay
            the same under these changes.
        ood_groups: names of other image data sets that share no class with this one, for tests of OOD detection. Those
            under "near" show the same kind of picture, those under "far" another kind.
        validation_ood: names of further such data sets for tuning. None of them is in `ood_groups`, so no choice is
            made on test data.
        by_hand: instructions to get files that cannot be downloaded; "" otherwise.
        listing: function from the data set's folder to the files expected there, for files without published checksums;
            `files` is then (). May raise `Fault`.

    Raises:
        ValueError: a field has an impossible value, or fields contradict each other, such as the task and the number of
            classes.
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
    split_scheme: str = "resampled"
    rows_of: str = ""
    same_as: tuple[str, ...] = ()
    flagged: Mapping[int, str] = field(default_factory=dict, hash=False)
    task: str = "regression"
    n_classes: int | None = None
    n_ood: int = 0
    suites: tuple[str, ...] = ()
    noise_precisions: tuple[float, float] | None = (0.01, 1.0)
    impute: str = ""
    command: tuple[str, ...] = ()
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

    def __post_init__(self) -> None:
        for name, (wanted, is_allowed) in FIELDS.items():
            if not is_allowed(getattr(self, name)):
                raise ValueError(f"dataset {self.name!r}: {name} should be {wanted}, got {getattr(self, name)!r}")
        if self.suites and not self.n_splits:
            raise ValueError(f"dataset {self.name!r}: n_splits should be 1 or more for a set that suites run, got 0")
        if self.task not in TASKS:
            raise ValueError(f"dataset {self.name!r}: task should be one of {', '.join(TASKS)}, got {self.task!r}")
        allowed, is_allowed = TASKS[self.task]
        if not is_allowed(self.n_classes):
            what = f"n_classes of a {self.task} task"
            raise ValueError(f"dataset {self.name!r}: {what} should be {allowed}, got {self.n_classes!r}")
        if self.split_scheme not in SPLIT_SCHEMES:
            schemes = ", ".join(map(repr, SPLIT_SCHEMES))
            raise ValueError(
                f"dataset {self.name!r}: split_scheme should be one of {schemes}, got {self.split_scheme!r}"
            )
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
    def along_features(self) -> bool:
        """True if each split divides the rows by the values of a different feature, `Split.feature`."""
        return self.split_scheme in ("gaps", "tails")

    @property
    def splits_in_words(self) -> str:
        """Number of splits as text, with the number of flagged splits."""
        return f"{self.n_splits} ({len(self.flagged)} flagged)" if self.flagged else str(self.n_splits)

    @property
    def flags_in_words(self) -> tuple[str, ...]:
        """A sentence for each reason in `flagged`, with the splits that it applies to."""
        by_reason: dict[str, list[str]] = {}
        for split, reason in self.flagged.items():
            by_reason.setdefault(reason, []).append(str(split))
        return tuple(
            f"Splits with {reason}: {', '.join(splits)}. They are run only if `--splits` names them, and not ranked."
            for reason, splits in by_reason.items()
        )

    @property
    def needs_download(self) -> bool:
        """True if the data set has files that do not come with an installed package."""
        return bool(self.files or self.listing)


def digest(*arrays: np.ndarray) -> str:
    """Return the SHA-256 (hex) of dtypes, shapes and values, independent of memory layout and byte order."""
    state = hashlib.sha256()
    for array in arrays:
        little_endian = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        state.update(f"{little_endian.dtype.str}{little_endian.shape}".encode())
        state.update(little_endian.reshape(-1).data)
    return state.hexdigest()


def _numbers(values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind in "cmM":  # NumPy would drop the imaginary part, or the unit of a time
        raise ValueError(f"features and targets should be real numbers, got {array.dtype}")
    return _frozen(array, np.float64)


def _pixels(values: ArrayLike) -> np.ndarray:
    array = np.ascontiguousarray(values)
    if array.dtype != np.uint8:
        raise ValueError(f"pixels should be uint8, got {array.dtype}")
    view = array.view(np.ndarray)
    view.setflags(write=False)
    return view


def _frozen(values: ArrayLike, dtype: DTypeLike) -> np.ndarray:
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array
