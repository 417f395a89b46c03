"""From verified files to arrays."""

import os
from typing import TYPE_CHECKING

import numpy as np

from datasets.errors import BrokenDataset, Fault
from datasets.images import weights
from datasets.records import Dataset, Source
from datasets.registry import entry, published
from datasets.storage import places, store

if TYPE_CHECKING:
    from torch import Tensor


def load(name: str, data_dir: str | os.PathLike | None = None) -> Dataset:
    """The set called `name`, from the data folder; never touches the network.

    Every file is compared with its pinned digest before it is parsed.

    Raises `UnknownDataset` for a name nobody registered, `Unavailable` when files are missing or are not the published
    ones, and `BrokenDataset` when the set's own code fails or contradicts its description.
    """
    source, folder = entry(name), places.data_dir(data_dir)
    # Looked at first, so that a set that was never fetched is reported whole and not by its first file.
    if found := store.faults(source, folder, deep=False):
        raise store.unavailable(source, folder, found)
    try:
        dataset = Dataset(name, *source.read(store.OnDisk(source, folder)), image=source.image)
        _check(dataset, source)
    except Fault as fault:
        raise store.unavailable(source, folder, [fault]) from None
    except Exception as error:
        reason = f"its reader failed: {type(error).__name__}: {error}"
        raise BrokenDataset(name, reason, "repair or reinstall the package that provides it") from error
    return dataset


def load_weights(name: str, data_dir: str | os.PathLike | None = None) -> dict[str, "Tensor"]:
    """The `state_dict` of the trained weights called `name`, from the data folder; never touches the network.

    Raises `Unavailable` when the file is missing or is not the published one.
    """
    source, folder = published(name), places.data_dir(data_dir)
    if found := store.faults(source, folder, deep=True):
        raise store.unavailable(source, folder, found)
    return weights.read(store.path_of(source, source.file, folder))


def _check(dataset: Dataset, source: Source) -> None:
    """Raise ValueError where the data contradict the source's description."""
    if dataset.x.shape != (source.n_rows, source.n_features):
        raise ValueError(f"x should be {(source.n_rows, source.n_features)}, got {dataset.x.shape}")
    if dataset.y.shape != (source.n_rows,):
        raise ValueError(f"y should be {(source.n_rows,)}, got {dataset.y.shape}")
    if not (_finite(dataset.x) and _finite(dataset.y)):
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
        rows = np.concatenate([split.train, split.test, split.validation])
        used = np.bincount(rows, minlength=source.n_rows)
        if len(used) != source.n_rows or used.max() > 1 or not (split.train.size and split.test.size):
            raise ValueError(f"split {number} should use every row at most once, in all parts, got something else")


def _finite(values: np.ndarray) -> bool:
    # Pixels are, and to look would take as much memory as they do.
    return values.dtype == np.uint8 or bool(np.isfinite(values).all())


def _check_classes(y: np.ndarray, n_classes: int) -> None:
    found = np.unique(y)
    if not np.array_equal(found, np.arange(n_classes)):
        some = ", ".join(f"{value:g}" for value in found[: n_classes + 1])
        more = ", ..." if len(found) > n_classes + 1 else ""
        raise ValueError(f"y should hold the class numbers 0 to {n_classes - 1}, each of them, got {some}{more}")
