"""One set's images before a model that was fitted to another set: out of distribution, or shifted."""

import os

import numpy as np

from datasets.images.shapes import as_images
from datasets.loading import load
from datasets.registry import entry

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
STL10 = ("airplane", "bird", "automobile", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")  # its "car" too
CLASSES = {"cifar10": CIFAR10, "cifar10-jpeg": CIFAR10, "stl10": STL10}  # by number, from 0
PARTNERS = {"cifar10": "stl10", "cifar10-jpeg": "stl10", "stl10": "cifar10"}


def ood_images(name: str, like: tuple[int, int, int], data_dir: str | os.PathLike | None = None) -> np.ndarray:
    """The test images of a set, in the shape of another's: uint8 (n, C * H * W).

    name: a set of images, as in `Source.ood_groups`; all of it where it has no splits.
    like: the shape (C, H, W) to give them, by the rules of `as_images`.
    data_dir: see `datasets.data_dir`.

    Raises what `load` raises, and ValueError for a set that is not of images.
    """
    image = entry(name).image
    if image is None:
        raise ValueError(f"{name!r} is not a set of images")
    return as_images(_tested(name, data_dir)[0], image, like)


def partner(name: str) -> str | None:
    """The set of other photographs of the classes of the set `name`, taken elsewhere; None where there is none."""
    return PARTNERS.get(name)


def partner_images(name: str, data_dir: str | os.PathLike | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The test images of the partner of the set `name` that show one of its classes, as it would show them.

    Returns images uint8 (n, C * H * W), in the shape of the set `name`, and labels float64 (n,), numbered as there.
    Raises what `load` raises, and ValueError for a set without a partner.
    """
    other = partner(name)
    if other is None:
        raise ValueError(f"{name!r} has no partner; those that have: {', '.join(PARTNERS)}")
    x, y = _tested(other, data_dir)
    rows, labels = matched_labels(y, other, name)
    return as_images(x[rows], entry(other).image, entry(name).image), labels


def matched_labels(y: np.ndarray, name: str, like: str) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of the set `name` show a class that the set `like` has as well, and that class's number there.

    y: class numbers (N,) of the set `name`.
    name, like: "stl10" and one of "cifar10" and "cifar10-jpeg", either way round. What STL-10 calls a car is CIFAR-10's
        automobile; STL-10's monkeys and CIFAR-10's frogs have no partner.

    Returns rows (n,), int64, ascending, and labels (n,) of y's type. Raises ValueError for sets without known classes.
    """
    for one in (name, like):
        if one not in CLASSES:
            raise ValueError(f"the classes of {one!r} are not known; allowed: {', '.join(CLASSES)}")
    theirs = CLASSES[like]
    number = np.array([theirs.index(title) if title in theirs else -1 for title in CLASSES[name]])
    labels = number[np.asarray(y).astype(np.int64)]
    rows = np.flatnonzero(labels >= 0)
    return rows, labels[rows].astype(np.asarray(y).dtype)


def _tested(name: str, data_dir: str | os.PathLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels of a set's test rows, or of all where it has no splits."""
    dataset = load(name, data_dir)
    rows = dataset.splits[0].test if dataset.splits else slice(None)
    return dataset.x[rows], dataset.y[rows]
