"""Table of out-of-distribution (OOD) data sets: for each image data set, the near and far OOD data sets.

The groups follow OpenOOD (Yang et al. 2022; Zhang et al. 2023, v1.5), as far as this package has its data sets. For
MNIST, notMNIST and Fashion-MNIST are near OOD, and photographs are far OOD. CIFAR-10 and CIFAR-100 are near OOD for
each other; MNIST and SVHN are far OOD for both. Grey data sets that OpenOOD leaves out are treated like MNIST, and
STL-10 like CIFAR-10. Two data sets with common classes are never OOD for each other: CIFAR-10 and STL-10 share nine
classes, MNIST and SVHN ten.

OpenOOD tunes OOD detection on held-out classes of TinyImageNet, which this package does not have. Instead, each grey
data set is tuned on one more grey data set, and the data sets of photographs on Fashion-MNIST.
"""

from typing import NamedTuple, TypedDict


class Outside(NamedTuple):
    """Names of the data sets that are OOD for one data set: near and far ones for tests, and those for tuning."""

    near: tuple[str, ...]
    far: tuple[str, ...]
    validation: tuple[str, ...]


PHOTOGRAPHS = ("cifar10", "svhn")
OUTSIDE = {
    "mnist": Outside(("notmnist", "fashion-mnist"), ("cifar10",), ("kmnist",)),
    "fashion-mnist": Outside(("notmnist", "mnist"), PHOTOGRAPHS, ("kmnist",)),
    "kmnist": Outside(("notmnist", "mnist"), PHOTOGRAPHS, ("fashion-mnist",)),
    "cifar10": Outside(("cifar100",), ("mnist", "svhn"), ("fashion-mnist",)),
    "cifar10-jpeg": Outside(("cifar100",), ("mnist", "svhn"), ("fashion-mnist",)),
    "cifar100": Outside(("cifar10",), ("mnist", "svhn"), ("fashion-mnist",)),
    "svhn": Outside((), ("cifar10", "cifar100"), ("fashion-mnist",)),
    "stl10": Outside(("cifar100",), ("mnist", "svhn"), ("fashion-mnist",)),
}


class OutsideFields(TypedDict):
    """The fields of a `Source` that name OOD data sets."""

    ood_groups: dict[str, tuple[str, ...]]
    validation_ood: tuple[str, ...]


def outside(name: str) -> OutsideFields:
    """Return the fields `ood_groups` and `validation_ood` for the `Source` of the data set `name`."""
    near, far, validation = OUTSIDE[name]
    groups = {group: names for group, names in (("near", near), ("far", far)) if names}
    return {"ood_groups": groups, "validation_ood": validation}
