"""STL-10: 96 x 96 photographs of ten classes, nine of which CIFAR-10 has too, read by torchvision's class."""

import numpy as np

from lockstep_bench.datasets.images.ood import outside
from lockstep_bench.datasets.images.parts import N_SPLITS, OWN_VALIDATION, joined
from lockstep_bench.datasets.images.vision import torchvision
from lockstep_bench.datasets.records import Contents, File, Source, Split

TAR = File("stl10_binary.tar.gz", 2640397119, md5="91f7769df0f17e558f3565bffb0c7dfb")
PIXEL_BYTES = 3 * 96 * 96


def read(contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, 27648), labels y (N,) and the splits of the labelled images."""
    published, root = torchvision().datasets.STL10, contents.folder()
    # The subclass leaves out the 100,000 unlabelled images, whose file torchvision would check as well.
    labelled = type("Labelled", (published,), {"train_list": published.train_list[:2]})
    train, test = (labelled(root, split=split) for split in ("train", "test"))
    return joined(*((part.data, part.labels) for part in (train, test)))


SOURCE = Source(
    name="stl10",
    title="STL-10, labelled part",
    n_rows=13_000,
    n_features=PIXEL_BYTES,
    image=(3, 96, 96),
    mirrored=True,
    n_splits=N_SPLITS,
    split_scheme="one test part",
    origin="Coates, Lee and Ng 2011, An analysis of single-layer networks in unsupervised feature learning",
    licence="none stated by the publisher; the images come from ImageNet",
    read=read,
    task="multiclass",
    n_classes=10,
    suites=("images",),
    notes=(
        "All 5000 labelled train rows are one part; the publisher's ten folds of 1000 are not used.",
        "The download of 2.6 GB holds the unlabelled images as well, which are not kept.",
        OWN_VALIDATION,
    ),
    files=(
        File("stl10_binary/train_X.bin", 5000 * PIXEL_BYTES, md5="918c2871b30a85fa023e0c44e0bee87f", within=TAR),
        File("stl10_binary/train_y.bin", 5000, md5="5a34089d4802c674881badbb80307741", within=TAR),
        File("stl10_binary/test_X.bin", 8000 * PIXEL_BYTES, md5="7f263ba9f9e0b06b93213547f721ac82", within=TAR),
        File("stl10_binary/test_y.bin", 8000, md5="36f9794fa4beb8a2c72628de14fa638e", within=TAR),
    ),
    folder="torchvision",
    base_url="https://cs.stanford.edu/~acoates/stl10/",
    **outside("stl10"),
)
