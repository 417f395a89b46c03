"""Training data as records: of arrays in memory, or of a split that a run has."""

from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

import datasets
from datasets import Dataset, Source, Split
from datasets.records import Contents

SUITE = "own"  # the suite of own tables; its presets and network are those of `uci`


class Arrays(NamedTuple):
    """Training data with its place in a run, from which seeds follow.

    Attributes:
        source: Description of the data set.
        dataset: Its arrays and splits.
        suite: Suite of the run.
        split: Number of the split whose training rows are learned from.
    """

    source: Source
    dataset: Dataset
    suite: str = SUITE
    split: int = 0


def regression(x: np.ndarray, y: np.ndarray, noise_precisions: tuple[float, float] | None = None) -> Arrays:
    """Return arrays as the training data of a regression.

    Args:
        x: (N, P), features in any units; each fit standardises them.
        y: (N,), targets.
        noise_precisions: Lowest and highest noise precision to search, in units of 1 / y^2; by default
            `datasets.noise_precisions(y)`, which follows the scale of y.
    """
    return _arrays(x, y, None, noise_precisions or datasets.noise_precisions(np.asarray(y)))


def classification(x: np.ndarray, labels: np.ndarray, n_classes: int) -> Arrays:
    """Return arrays as the training data of a classification.

    Args:
        x: (N, P), features in any units; each fit standardises them.
        labels: (N,), class numbers 0 to C - 1.
        n_classes: C, at least 2.
    """
    return _arrays(x, labels, n_classes)


def registered(name: str, split: int = 0, suite: str = "uci", data_dir: Path | None = None) -> Arrays:
    """Return the training rows of a split of a registered data set, with the inputs of that split.

    With the same protocol and seed, `bench.arrays.tune` and `bench.arrays.fit` then give the numbers of a run.

    Args:
        name: Name in the registry.
        split: Number of the split.
        suite: A suite that trains networks on tables: "uci", or "own" for the table of `run_all.py --csv`.
        data_dir: Data folder; None for the default.
    """
    source, dataset = datasets.entry(name), datasets.load(name, data_dir)
    source = datasets.source_of_split(source, dataset, split)
    return Arrays(source, datasets.dataset_of_split(dataset, split), suite, split)


def described(
    name: str, n_rows: int, n_features: int, n_classes: int | None, noise_precisions: tuple[float, float]
) -> Source:
    """Return the description of arrays (N, P); `n_classes` is None for a regression, which alone has a noise range."""
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
    x: np.ndarray, y: np.ndarray, n_classes: int | None, noise_precisions: tuple[float, float] = (1.0, 1.0)
) -> Arrays:
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise ValueError(f"x should be (N, P) and y (N,), got {x.shape} and {y.shape}")
    split = Split(np.arange(len(x)), np.empty(0, np.int64))
    source = described("arrays", x.shape[0], x.shape[1], n_classes, noise_precisions)
    return Arrays(source, Dataset("arrays", x, y, (split,)))


def _read_nothing(contents: Contents) -> NoReturn:
    raise ValueError("arrays in memory have no files to read")
