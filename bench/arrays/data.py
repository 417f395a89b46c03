"""Arrays in memory as a data set that needs no registry."""

from typing import NamedTuple, NoReturn

import numpy as np

import datasets
from datasets import Dataset, Source, Split
from datasets.records import Contents


class Arrays(NamedTuple):
    """A data set in memory.

    Attributes:
        source: Its description.
        dataset: Its arrays, with one split, whose training rows are those to learn from.
    """

    source: Source
    dataset: Dataset


def regression(
    x: np.ndarray,
    y: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    noise_precisions: tuple[float, float] | None = None,
    name: str = "arrays",
) -> Arrays:
    """Return the data set of a regression.

    Args:
        x: (N, P), features in any units; each fit standardises them.
        y: (N,), targets.
        rows: (M,), indices of the rows to learn from, in any order; by default all.
        noise_precisions: lowest and highest noise precision to search, in units of 1 / y^2; by default
            `datasets.noise_precisions(y)`, which follows the scale of y.
        name: enters the seeds of folds and fits. With the name of a registered set, its features, targets, noise range,
            and the training rows of its split 0, `bench.arrays.training` gives the numbers of that split in a run.
    """
    return _arrays(x, y, rows, name, None, noise_precisions or datasets.noise_precisions(np.asarray(y)))


def classification(
    x: np.ndarray, labels: np.ndarray, *, n_classes: int, rows: np.ndarray | None = None, name: str = "arrays"
) -> Arrays:
    """Return the data set of a classification.

    Args:
        x: (N, P), features in any units; each fit standardises them.
        labels: (N,), class numbers 0 to C - 1.
        n_classes: C, at least 2.
        rows: as for `regression`.
        name: as for `regression`.
    """
    return _arrays(x, labels, rows, name, n_classes)


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
    x: np.ndarray,
    y: np.ndarray,
    rows: np.ndarray | None,
    name: str,
    n_classes: int | None,
    noise_precisions: tuple[float, float] = (1.0, 1.0),
) -> Arrays:
    split = Split(np.arange(len(x)) if rows is None else rows, np.empty(0, np.int64))
    dataset = Dataset(name, x, y, (split,))
    if dataset.x.ndim != 2 or dataset.y.shape != dataset.x.shape[:1]:
        raise ValueError(f"x should be (N, P) and y (N,), got {dataset.x.shape} and {dataset.y.shape}")
    n_rows, n_features = dataset.x.shape
    return Arrays(described(name, n_rows, n_features, n_classes, noise_precisions), dataset)


def _read_nothing(contents: Contents) -> NoReturn:
    raise ValueError("arrays in memory have no files to read")
