"""Table of OOD sets: for each image data set, the sets that are out of distribution.

The groups follow OpenOOD (Yang et al. 2022; Zhang et al. 2023, v1.5) as far as its sets are here. For MNIST it calls
notMNIST and Fashion-MNIST near and photographs far; for CIFAR-10 and CIFAR-100 each other near, MNIST and SVHN far. The
grey sets that it leaves out are treated like MNIST, STL-10 like CIFAR-10. No set is out of distribution for another of
whose classes it holds pictures: CIFAR-10 and STL-10 share nine, MNIST and SVHN ten.

What OpenOOD validates with, held-out classes of TinyImageNet, is not here. Instead each grey set has one more grey set
for that, and the sets of photographs have Fashion-MNIST.
"""

from typing import NamedTuple, TypedDict


class Outside(NamedTuple):
    """Names of the sets that are out of distribution for one set: near and far ones, and those for tuning."""

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
    """Fields of a `Source` that name other sets."""

    ood_groups: dict[str, tuple[str, ...]]
    validation_ood: tuple[str, ...]


def outside(name: str) -> OutsideFields:
    """Return the fields `ood_groups` and `validation_ood` of the source of this name."""
    near, far, validation = OUTSIDE[name]
    groups = {group: names for group, names in (("near", near), ("far", far)) if names}
    return {"ood_groups": groups, "validation_ood": validation}
