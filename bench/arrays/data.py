"""Training data for `bench.arrays`: from arrays in memory, or from a split of a registered data set."""

from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.request import known
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.metrics import checks
from lockstep_bench.datasets import Dataset, Source, Split
from lockstep_bench.datasets.records import Contents
from lockstep_bench.shared.protocol import VECTORS

SUITE = "own"  # the suite of own tables; its presets and network are those of `uci`
LEAST_SD = 1e-12  # of a target; precisions and squares are then far inside the range of single precision
LEAST_STEPS = 10  # of rounding, in a target's standard deviation


class Arrays(NamedTuple):
    """Training data: a data set and the number of a split.

    Suite, data set and split also determine the seeds, as in a run of the benchmark.

    Attributes:
        source: Description of the data set.
        dataset: Arrays and splits of the data set.
        suite: Name of the suite.
        split: Number of the split whose training rows are used.
        offset: Number that was subtracted from the targets in double precision; it is added to predictions. Otherwise
            large targets would lose digits, because networks predict in single precision.
    """

    source: Source
    dataset: Dataset
    suite: str = SUITE
    split: int = 0
    offset: float = 0.0


def regression(x: np.ndarray, y: np.ndarray, noise_precisions: tuple[float, float] | None = None) -> Arrays:
    """Return the training data of a regression from arrays.

    Args:
        x: (N, P), features in any units; each fit standardises them.
        y: (N,), targets.
        noise_precisions: Lowest and highest noise precision (1 / variance) to search, in units of 1 / y^2; by default
            `datasets.noise_precisions(y)`, which follows the scale of y.

    Raises:
        TypeError: An argument does not consist of real numbers.
        ValueError: An argument has a wrong shape or impossible values; the message says what is allowed.
    """
    x, y = _features(x), checks.reals(y, "y", "(N,)")
    checks.of_length(y, len(x), "y", "the rows of x")
    if noise_precisions is not None:
        low, high = (checks.positive(end, "noise_precisions") for end in noise_precisions)
        if low > high:
            raise ValueError(f"noise_precisions should be (lowest, highest), got ({low:g}, {high:g}); swap the two")
    offset = _offset(y)
    y = y.astype(np.float64) - offset
    return _arrays(x, y, None, noise_precisions or datasets.noise_precisions(y), offset)


def classification(x: np.ndarray, labels: np.ndarray, n_classes: int) -> Arrays:
    """Return the training data of a classification from arrays.

    Args:
        x: (N, P), features in any units; each fit standardises them.
        labels: (N,), class numbers 0 to C - 1.
        n_classes: C, number of classes, at least 2.

    Raises:
        TypeError, ValueError: See `regression`.
    """
    x, n_classes = _features(x), checks.integer(n_classes, "n_classes", 2)
    numbers = checks.class_numbers(labels, n_classes, "labels")
    return _arrays(x, checks.of_length(numbers, len(x), "labels", "the rows of x"), n_classes)


def registered(name: str, split: int = 0, suite: str = "uci", data_dir: Path | None = None) -> Arrays:
    """Return the training rows of a split of a registered data set, with the inputs of that split.

    With the same protocol and seed, `bench.arrays.tune` and `bench.arrays.fit` then give the same numbers as a run of
    the benchmark.

    Args:
        name: Name of the data set.
        split: Number of the split.
        suite: A suite that trains networks on tables: "uci", or "own" for the table of `run_all.py --csv`.
        data_dir: Data folder; None for the default.

    Raises:
        ValueError: The suite or the split is unknown, or the data set is not a table.
        datasets.UnknownDataset, datasets.Unavailable: See `datasets.load`.
    """
    source = datasets.entry(name)
    known("suite", suite, [each for each, record in SUITES.items() if record.kind.data == VECTORS])
    if source.image:
        raise ValueError(f"{name} is a set of images; give one of a table, or run it with run_all.py")
    if checks.integer(split, "split", 0) >= source.n_splits:
        raise ValueError(f"split should be 0 to {source.n_splits - 1}, the splits of {name}, got {split}")
    dataset = datasets.load(name, data_dir)
    source = datasets.source_of_split(source, dataset, split)
    return Arrays(source, datasets.dataset_of_split(dataset, split), suite, split)


def described(
    name: str, n_rows: int, n_features: int, n_classes: int | None, noise_precisions: tuple[float, float]
) -> Source:
    """Return the data-set description of arrays with N rows and P features.

    `n_classes` is None for a regression. `noise_precisions`, the range to search, is used for a regression only.
    """
    task = "regression" if n_classes is None else "binary" if n_classes == 2 else "multiclass"
    return Source(
        name=name,
        title=name,
        n_rows=n_rows,
        n_features=n_features,
        n_splits=1,
        origin="arrays in memory",
        licence="",
        read=_read_nothing,
        task=task,
        n_classes=n_classes,
        noise_precisions=noise_precisions,
    )


def _arrays(
    x: np.ndarray,
    y: np.ndarray,
    n_classes: int | None,
    noise_precisions: tuple[float, float] = (1.0, 1.0),
    offset: float = 0.0,
) -> Arrays:
    split = Split(np.arange(len(x)), np.empty(0, np.int64))
    source = described("arrays", x.shape[0], x.shape[1], n_classes, noise_precisions)
    return Arrays(source, Dataset("arrays", x, y, (split,)), offset=offset)


def _features(x: Any) -> np.ndarray:
    features = checks.reals(x, "x", "(N, P)")
    if not all(features.shape):
        raise ValueError(f"x should have at least one row and one column, got {features.shape}")
    return features


def _offset(y: np.ndarray) -> float:
    """Return the mean of targets y (N,).

    Raises:
        ValueError: Distinct targets are equal after rounding to their data type, or their scale does not fit single
            precision.
    """
    mean, sd = float(y.mean(dtype=np.float64)), float(y.std(dtype=np.float64))
    if y.min() == y.max():
        return mean
    rounded = y if y.dtype.kind == "f" else y.astype(np.float64)
    step = float(np.spacing(np.abs(rounded).max()))
    if sd < LEAST_STEPS * step:
        raise ValueError(
            f"y has mean {mean:.3g} and standard deviation {sd:.3g}; {rounded.dtype} has steps of {step:.3g} there, "
            "too wide to tell such values apart; subtract a constant before y is rounded to this type"
        )
    if not LEAST_SD < sd < 1 / LEAST_SD:
        raise ValueError(
            f"y should have a standard deviation between {LEAST_SD:g} and {1 / LEAST_SD:g}, got {sd:.3g}; give it in "
            "another unit"
        )
    return mean


def _read_nothing(contents: Contents) -> NoReturn:
    raise ValueError("arrays in memory have no files to read")
