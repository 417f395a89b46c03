"""Loading of data sets and pretrained weights: files are verified, then read into arrays."""

import os
from typing import TYPE_CHECKING

import numpy as np

from lockstep_bench.datasets.errors import Fault
from lockstep_bench.datasets.images import weights
from lockstep_bench.datasets.images.weights import Weights
from lockstep_bench.datasets.records import Dataset, Source, Split
from lockstep_bench.datasets.registry import entry, published
from lockstep_bench.datasets.storage import data_folder, store

if TYPE_CHECKING:
    from torch import Tensor


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set from the data folder, without network access.

    Every file is compared with its known checksum before it is parsed.

    Args:
        name: registered name of the data set.
        data_dir: data folder; see `datasets.data_dir`.

    Raises:
        UnknownDataset: no data set is registered under this name.
        Unavailable: files are missing or differ from the published ones.
        BrokenDataset: the function that reads the data set fails, or its arrays contradict the data set's description.
    """
    source, folder = entry(name), data_folder.data_dir(data_dir)
    # Checked first, so that the error about a set that was never fetched counts all files and not only the first.
    if faults := store.faults(source, folder, deep=False):
        raise store.unavailable(source, folder, faults)
    try:
        with store.run_by(name, "reader"):
            x, y, splits, *rest = source.read(store.OnDisk(source, folder))
            ood = {"ood": rest[0]} if rest else {}
            dataset = Dataset(name, x, y, splits, image=source.image, **ood)
            _check(dataset, source)
            return dataset
    except Fault as fault:
        raise store.unavailable(source, folder, [fault]) from None


def load_weights(name: str, data_dir: str | os.PathLike[str] | None = None) -> dict[str, "Tensor"]:
    """Load the `state_dict` of trained weights from the data folder, without network access.

    Args:
        name: key of `datasets.images.weights.WEIGHTS`.
        data_dir: data folder; see `datasets.data_dir`.

    Raises:
        UnknownDataset: nothing is registered under this name.
        ValueError: the name belongs to a data set.
        Unavailable: the file is missing or differs from the published one.
    """
    source, folder = published(name), data_folder.data_dir(data_dir)
    if not isinstance(source, Weights):
        raise ValueError(f"{name!r} is a data set, not trained weights; use `datasets.load({name!r})`")
    if faults := store.faults(source, folder, deep=True):
        raise store.unavailable(source, folder, faults)
    return weights.read(store.path_of(source, source.file, folder))


def _check(dataset: Dataset, source: Source) -> None:
    """Raise ValueError where the arrays contradict the description of the set."""
    if dataset.x.shape != (source.n_rows, source.n_features):
        raise ValueError(f"x should be {(source.n_rows, source.n_features)}, got {dataset.x.shape}")
    if dataset.y.shape != (source.n_rows,):
        raise ValueError(f"y should be {(source.n_rows,)}, got {dataset.y.shape}")
    complete = np.nan_to_num(dataset.x, nan=0.0, posinf=np.inf, neginf=-np.inf) if source.impute else dataset.x
    if not (_finite(complete) and _finite(dataset.y)):
        raise ValueError("x and y should be finite")
    if dataset.ood.shape != (source.n_ood, source.n_features):
        raise ValueError(f"ood should be {(source.n_ood, source.n_features)}, got {dataset.ood.shape}")
    if not _finite(dataset.ood):
        raise ValueError("ood should be finite")
    if source.n_classes is not None:
        _check_classes(dataset.y, source.n_classes)
    if len(dataset.splits) != source.n_splits:
        raise ValueError(f"there should be {source.n_splits} splits, got {len(dataset.splits)}")
    for number, split in enumerate(dataset.splits):
        _check_split(number, split, source)


def _check_split(number: int, split: Split, source: Source) -> None:
    rows = np.concatenate([split.train, split.test, split.validation])
    used = np.bincount(rows, minlength=source.n_rows)
    if len(used) != source.n_rows or used.max() > 1 or not (split.train.size and split.test.size):
        raise ValueError(f"split {number} should use every row at most once, in all parts, got something else")
    if split.inputs is not None and not np.isin(split.inputs, np.arange(source.n_features)).all():
        raise ValueError(f"inputs of split {number} should be columns of x, got {split.inputs.tolist()}")


def _finite(values: np.ndarray) -> bool:
    # Pixels always are; np.isfinite would allocate as much memory again.
    return values.dtype == np.uint8 or bool(np.isfinite(values).all())


def _check_classes(y: np.ndarray, n_classes: int) -> None:
    values = np.unique(y)
    if not np.array_equal(values, np.arange(n_classes)):
        first = ", ".join(f"{value:g}" for value in values[: n_classes + 1])
        more = ", ..." if len(values) > n_classes + 1 else ""
        raise ValueError(f"y should hold the class numbers 0 to {n_classes - 1}, each of them, got {first}{more}")
