"""CIFAR-10 and CIFAR-100: 32 x 32 photographs, read by torchvision's classes from the publisher's Python version."""

from functools import cache, partial

import numpy as np

from lockstep_bench.datasets.images.ood import outside
from lockstep_bench.datasets.images.parts import N_SPLITS, OWN_VALIDATION, joined
from lockstep_bench.datasets.images.vision import torchvision
from lockstep_bench.datasets.records import Contents, File, Source, Split

IMAGE = (3, 32, 32)
URL = "https://www.cs.toronto.edu/~kriz/"
ORIGIN = "Krizhevsky 2009, Learning multiple layers of features from tiny images"
LICENCE = "none stated by the publisher"
CIFAR10_TAR = File("cifar-10-python.tar.gz", 170498071, md5="c58f30108f718f92721af3b95e74349a")
CIFAR100_TAR = File("cifar-100-python.tar.gz", 169001437, md5="eb9058c3a382ffc7106e4002c42a8d85")
CIFAR10_FILES = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
    "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
}
CIFAR100_FILES = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}


def read(name: str, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, 3072), labels y (N,) and the splits, read by torchvision's class `name`."""
    load, root = getattr(torchvision().datasets, name), contents.folder()
    train, test = (load(root, train=train) for train in (True, False))
    return joined(*((part.data.transpose(0, 3, 1, 2), part.targets) for part in (train, test)))


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of CIFAR-10 and CIFAR-100."""

    def source(name: str, title: str, n_classes: int, load: str, files: tuple[File, ...], *notes: str) -> Source:
        return Source(
            name=name,
            title=title,
            n_rows=60_000,
            n_features=3072,
            image=IMAGE,
            mirrored=True,
            n_splits=N_SPLITS,
            split_scheme="one test part",
            origin=ORIGIN,
            licence=LICENCE,
            read=partial(read, load),
            task="multiclass",
            n_classes=n_classes,
            suites=("images",),
            notes=(*notes, OWN_VALIDATION),
            files=files,
            folder="torchvision",
            base_url=URL,
            **outside(name),
        )

    return (
        source("cifar10", "CIFAR-10", 10, "CIFAR10", _files("cifar-10-batches-py", CIFAR10_FILES, CIFAR10_TAR)),
        source(
            "cifar100",
            "CIFAR-100",
            100,
            "CIFAR100",
            _files("cifar-100-python", CIFAR100_FILES, CIFAR100_TAR),
            "The classes are the 100 fine ones.",
        ),
    )


def _files(folder: str, md5: dict[str, str], tar: File) -> tuple[File, ...]:
    return tuple(File(f"{folder}/{name}", None, md5=digest, within=tar) for name, digest in md5.items())
