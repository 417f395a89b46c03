"""Images of one data set, converted to the input shape of a model that was fitted to another data set."""

import os

import numpy as np

from lockstep_bench.datasets.images.shapes import as_images
from lockstep_bench.datasets.loading import load
from lockstep_bench.datasets.registry import entry

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
STL10 = ("airplane", "bird", "automobile", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")  # its "car" too
CLASSES = {"cifar10": CIFAR10, "cifar10-jpeg": CIFAR10, "stl10": STL10}  # by number, from 0
PARTNERS = {"cifar10": "stl10", "cifar10-jpeg": "stl10", "stl10": "cifar10"}


def ood_images(name: str, like: tuple[int, int, int], data_dir: str | os.PathLike[str] | None = None) -> np.ndarray:
    """Load the test images of a data set, converted to another image shape, uint8 (n, C * H * W).

    Args:
        name: name of an image data set, as in `Source.ood_groups`. If the data set has no splits, all its images are
            returned.
        like: image shape (C, H, W) of the result; `as_images` converts.
        data_dir: data folder; see `datasets.data_dir`.

    Raises:
        ValueError: the data set does not consist of images. The errors of `load` may be raised as well.
    """
    image = entry(name).image
    if image is None:
        raise ValueError(f"{name!r} is not a set of images; name one whose `image` is a shape (C, H, W)")
    return as_images(_tested(name, data_dir)[0], image, like)


def partner(name: str) -> str | None:
    """Return the name of the partner data set, with other photographs of the same classes, or None if there is none."""
    return PARTNERS.get(name)


def partner_images(name: str, data_dir: str | os.PathLike[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Load the test images of the partner data set of `name`, without images of classes that `name` does not have.

    Args:
        name: image data set that has a `partner`.
        data_dir: data folder; see `datasets.data_dir`.

    Returns:
        Images uint8 (n, C * H * W) in the shape of the data set `name`, and labels float64 (n,) in its class numbers.

    Raises:
        ValueError: the data set has no partner. The errors of `load` may be raised as well.
    """
    other = partner(name)
    if other is None:
        raise ValueError(f"{name!r} has no partner; sets that have one: {', '.join(PARTNERS)}")
    x, y = _tested(other, data_dir)
    rows, labels = matched_labels(y, other, name)
    image, like = entry(other).image, entry(name).image
    assert image
    assert like
    return as_images(x[rows], image, like), labels


def matched_labels(y: np.ndarray, name: str, like: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of data set `name` that show a class of data set `like`, and their class numbers in `like`.

    STL-10's class "car" matches CIFAR-10's "automobile". STL-10's monkeys and CIFAR-10's frogs have no counterpart.

    Args:
        y: class numbers (N,) of all rows of data set `name`.
        name: "stl10", "cifar10" or "cifar10-jpeg".
        like: another of these names.

    Returns:
        Rows int64 (n,), ascending, and labels (n,) with the dtype of y.

    Raises:
        ValueError: the classes of a data set are not known.
    """
    for dataset in (name, like):
        if dataset not in CLASSES:
            raise ValueError(f"the classes of {dataset!r} are not known; allowed: {', '.join(CLASSES)}")
    wanted = CLASSES[like]
    number = np.array([wanted.index(title) if title in wanted else -1 for title in CLASSES[name]])
    labels = number[np.asarray(y).astype(np.int64)]
    rows = np.flatnonzero(labels >= 0)
    return rows, labels[rows].astype(np.asarray(y).dtype)


def _tested(name: str, data_dir: str | os.PathLike[str] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels and labels of the test rows, or of all rows of a set without splits."""
    dataset = load(name, data_dir)
    rows = dataset.splits[0].test if dataset.splits else slice(None)
    return dataset.x[rows], dataset.y[rows]
