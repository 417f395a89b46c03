"""Street View House Numbers: 32 x 32 photographs of single digits, read by torchvision's class."""

import numpy as np

from lockstep_bench.datasets.images.ood import outside
from lockstep_bench.datasets.images.parts import N_SPLITS, OWN_VALIDATION, joined
from lockstep_bench.datasets.images.vision import torchvision
from lockstep_bench.datasets.records import Contents, File, Source, Split


def read(contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, 3072), the digits y (N,), and the splits."""
    load, root = torchvision().datasets.SVHN, contents.folder()
    train, test = (load(root, split=split) for split in ("train", "test"))
    return joined(*((part.data, part.labels) for part in (train, test)))


SOURCE = Source(
    name="svhn",
    title="Street View House Numbers",
    n_rows=99_289,
    n_features=3072,
    image=(3, 32, 32),
    n_splits=N_SPLITS,
    split_scheme="one test part",
    origin="Netzer et al. 2011, Reading digits in natural images with unsupervised feature learning",
    licence="for non-commercial use only, says the publisher",
    read=read,
    task="multiclass",
    n_classes=10,
    suites=("images",),
    notes=("The published extra part is not used.", OWN_VALIDATION),
    files=(
        File("train_32x32.mat", 182040794, md5="e26dedcc434d2e4c54c9b2d4a06d8373"),
        File("test_32x32.mat", 64275384, md5="eb5a983be6a315427106f1b164d9cef3"),
    ),
    folder="torchvision",
    base_url="https://ufldl.stanford.edu/housenumbers/",
    **outside("svhn"),
)
