"""APTOS 2019: retina photographs with or without sight-threatening diabetic retinopathy.

The images may not be redistributed, so this package cannot download them, and has no checksums of them. The user gets
`train.csv` and `train_images/` from Kaggle; only images that the table lists are used. Every image is resized to 224 x
224 pixels, which takes some minutes. The result is cached beside the images, under a name derived from their names,
sizes and modification times.
"""

import csv
import hashlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from lockstep_bench.datasets.errors import Fault
from lockstep_bench.datasets.images.shapes import decoded
from lockstep_bench.datasets.paths import regular
from lockstep_bench.datasets.records import Contents, File, Source, Split
from lockstep_bench.datasets.splits import fixed_splits

IMAGE = (3, 224, 224)
TABLE = "train.csv"
N_SPLITS = 5
SEED = 2019  # the year of the competition; any fixed number would do
TEST_FRACTION, VALIDATION_FRACTION = 0.3, 0.2
GRADES = ("0", "1", "2", "3", "4")  # none, mild, moderate, severe, proliferative
SIGHT_THREATENING = 2  # the lowest such grade
N_IMAGES = 3662


def listing(n_images: int, folder: Path) -> tuple[File, ...]:
    """Return the files of the data set: the table `train.csv` and the images that it lists.

    Args:
        n_images: expected number of images.
        folder: folder of the data set.

    Raises:
        Fault: the table lists another number of images.
    """
    table = File(TABLE, None)
    try:
        rows = _rows(folder)
    except OSError:
        return (table,)
    if len(rows) != n_images:
        raise Fault(table, "damaged", f"expected {n_images} images, it lists {len(rows)}")
    return table, *(File(_path(code), None) for code, _ in rows)


def read(contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, 150528), labels y (N,), True for a grade of 2 or more, and the splits.

    Rows are in the order of the table.
    """
    folder = contents.folder()
    rows = _rows(folder)
    x = _pixels(folder, [_path(code) for code, _ in rows])
    y = np.array([grade >= SIGHT_THREATENING for _, grade in rows])
    return x, y, fixed_splits(len(y), N_SPLITS, SEED, TEST_FRACTION, VALIDATION_FRACTION)


def _rows(folder: Path) -> list[tuple[str, int]]:
    """Return the identity and the grade of every image."""
    with regular(folder / TABLE).open(encoding="utf-8", errors="replace", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        if not row.get("id_code") or row.get("diagnosis") not in GRADES:
            expected = f"expected id_code and diagnosis, one of {', '.join(GRADES)}, in every row"
            raise Fault(File(TABLE, None), "damaged", f"{expected}, got {row}")
    return [(row["id_code"], int(row["diagnosis"])) for row in rows]


def _path(code: str) -> str:
    return f"train_images/{code}.png"


def _pixels(folder: Path, paths: list[str]) -> np.ndarray:
    """Return the resized images (N, 150528), from the cache if there is one, and cache them otherwise."""
    cache = folder / f"resized-{'x'.join(map(str, IMAGE))}-{_fingerprint(folder, paths)}.npy"
    if cache.is_file():
        cached: np.ndarray = np.load(cache, mmap_mode="r")
        return cached
    pixels = np.empty((len(paths), *IMAGE), np.uint8)

    def fill(row: int) -> None:
        try:
            pixels[row] = decoded(folder / paths[row], IMAGE, resize=True)
        except OSError as error:
            raise Fault(File(paths[row], None), "damaged", f"cannot be read as an image: {error}") from error

    # Pillow lets other threads run while it unpacks.
    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(len(paths))))
    rows = pixels.reshape(len(paths), -1)
    _save(rows, cache)
    return rows


def _fingerprint(folder: Path, paths: list[str]) -> str:
    state = hashlib.sha256()
    for path in paths:
        status = (folder / path).stat()
        state.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return state.hexdigest()[:16]


def _save(pixels: np.ndarray, path: Path) -> None:
    # In a read-only folder the images are resized again each time.
    with suppress(OSError), tempfile.TemporaryDirectory(prefix=".keeping-", dir=path.parent) as temporary:
        np.save(Path(temporary, path.name), pixels)
        os.replace(Path(temporary, path.name), path)


SOURCE = Source(
    name="aptos2019",
    title="APTOS 2019, sight-threatening retinopathy",
    n_rows=N_IMAGES,
    n_features=int(np.prod(IMAGE)),
    image=IMAGE,
    n_splits=N_SPLITS,
    origin="Asia Pacific Tele-Ophthalmology Society 2019, APTOS 2019 blindness detection, Kaggle; Aravind Eye Hospital",
    licence="the rules of the Kaggle competition",
    read=read,
    task="binary",
    n_classes=2,
    suites=("retinopathy",),
    notes=(
        "Class 1 joins the grades 2, 3 and 4 (moderate and worse), class 0 the grades 0 and 1.",
        "The 3662 images of the published train part are all there is: those of the test part have no labels.",
        "Its 5 splits, 50 % to train, 20 % to validate, 30 % to test, are this project's own.",
        "Training images are used as they are, neither mirrored nor moved: the VIFA paper says nothing of either.",
        "Images are squeezed to 224 x 224 pixels, whatever the ratio of their sides; nothing is cropped or recoloured.",
        "Its files cannot be pinned; results are distinguished by the digest of the pixels.",
    ),
    folder="aptos2019",
    by_hand="get it from Kaggle (competition aptos2019-blindness-detection) and put train.csv and train_images in",
    listing=partial(listing, N_IMAGES),
)
