"""MNIST and data sets in its format: idx files of 28 x 28 grey images, read by torchvision.

The files are stored unpacked, in torchvision's folder layout. KMNIST is an exception, since only its .gz files have
published checksums. These files are verified, then unpacked to a temporary folder and read from there.
"""

import gzip
import tempfile
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from lockstep_bench.datasets.images.ood import outside
from lockstep_bench.datasets.images.parts import N_SPLITS, OWN_VALIDATION, Part, joined
from lockstep_bench.datasets.images.vision import torchvision
from lockstep_bench.datasets.records import Contents, File, Reader, Source, Split

IMAGE = (1, 28, 28)
TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
BYTES = {TRAIN_IMAGES: 47040016, TRAIN_LABELS: 60008, TEST_IMAGES: 7840016, TEST_LABELS: 10008}

RAW = "https://raw.githubusercontent.com"
MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FASHION_URL = f"{RAW}/zalandoresearch/fashion-mnist/b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion/"
KMNIST_URL = "https://codh.rois.ac.jp/kmnist/dataset/kmnist/"
NOTMNIST_URL = f"{RAW}/davidflanagan/notMNIST-to-MNIST/17823f4d4a3acd8317c07866702d2eb2ac79c7a0/"


def read(name: str, contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, 784), labels y (N,) and the splits, read by torchvision's class `name`.

    The files are in the folder `<name>/raw`.
    """
    return joined(*_parts(name, contents.folder().parents[1]))


def read_packed(name: str, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, 784), labels y (N,) and the splits from the contents of .gz files."""
    with tempfile.TemporaryDirectory() as root:
        raw = Path(root, name, "raw")
        raw.mkdir(parents=True)
        for path, content in contents.items():
            (raw / path.removesuffix(".gz")).write_bytes(gzip.decompress(content))
        return joined(*_parts(name, Path(root)))


def read_test_part(contents: Contents) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return pixels x (N, 784) and labels y (N,) of the test files, without splits."""
    idx, folder = torchvision().datasets.mnist, contents.folder()
    images = idx.read_image_file(folder / TEST_IMAGES).numpy()
    return images.reshape(len(images), -1), idx.read_label_file(folder / TEST_LABELS).numpy(), ()


def _parts(name: str, root: Path) -> tuple[Part, Part]:
    published = getattr(torchvision().datasets, name)
    # torchvision prefers copies in an older format, if there are any; those are not verified.
    checked = type(name, (published,), {"_check_legacy_exist": lambda self: False})
    train, test = (checked(root, train=train) for train in (True, False))
    return (train.data.numpy()[:, None], train.targets.numpy()), (test.data.numpy()[:, None], test.targets.numpy())


def _unpacked(sha256: Mapping[str, str], md5: Mapping[str, str]) -> tuple[File, ...]:
    """Return files that are published as one .gz each.

    Args:
        sha256: digests of the unpacked files, by path.
        md5: digests of the .gz files, by path of the unpacked file, where the publisher gives them.
    """
    return tuple(
        File(path, BYTES[path], digest, within=File(f"{path}.gz", None, md5=md5.get(path, "")))
        for path, digest in sha256.items()
    )


@cache
def sources() -> tuple[Source, ...]:
    """Return the descriptions of MNIST, Fashion-MNIST, KMNIST and notMNIST; notMNIST is for OOD detection only."""

    def source(
        name: str, title: str, folder: str, read: Reader, files: tuple[File, ...], base_url: str, **fields: Any
    ) -> Source:
        return Source(
            name=name,
            title=title,
            n_rows=70_000,
            n_features=784,
            image=IMAGE,
            n_splits=N_SPLITS,
            split_scheme="one test part",
            read=read,
            task="multiclass",
            n_classes=10,
            suites=("images",),
            files=files,
            folder=folder,
            base_url=base_url,
            **fields,
            **outside(name),
        )

    return (
        source(
            "mnist",
            "MNIST handwritten digits",
            "torchvision/MNIST/raw",
            partial(read, "MNIST"),
            _unpacked(
                {
                    TRAIN_IMAGES: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                    TRAIN_LABELS: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                    TEST_IMAGES: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                    TEST_LABELS: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                },
                {
                    TRAIN_IMAGES: "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                    TRAIN_LABELS: "d53e105ee54ea40749a09fcbcd1e9432",
                    TEST_IMAGES: "9fb629c4189551a2d022fa330f9573f3",
                    TEST_LABELS: "ec29112dd5afa0611ce80d1b7f02629c",
                },
            ),
            MNIST_URL,
            origin="LeCun, Bottou, Bengio and Haffner 1998, Gradient-based learning applied to document recognition",
            licence="none stated by the publisher",
            notes=(OWN_VALIDATION,),
        ),
        source(
            "fashion-mnist",
            "Fashion-MNIST articles of clothing",
            "torchvision/FashionMNIST/raw",
            partial(read, "FashionMNIST"),
            _unpacked(
                {
                    TRAIN_IMAGES: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                    TRAIN_LABELS: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                    TEST_IMAGES: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                    TEST_LABELS: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
                },
                {
                    TRAIN_IMAGES: "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                    TRAIN_LABELS: "25c81989df183df01b3e8a0aad5dffbe",
                    TEST_IMAGES: "bef4ecab320f06d8554ea6380940ec79",
                    TEST_LABELS: "bb300cfdad3c16e7a12a480ee83cd310",
                },
            ),
            FASHION_URL,
            origin="Xiao, Rasul and Vollgraf 2017, Fashion-MNIST: a novel image dataset for benchmarking machine "
            "learning algorithms",
            licence="MIT",
            notes=(OWN_VALIDATION,),
        ),
        source(
            "kmnist",
            "Kuzushiji-MNIST, cursive Japanese",
            "torchvision/KMNIST/raw",
            partial(read_packed, "KMNIST"),
            (
                File(f"{TRAIN_IMAGES}.gz", None, md5="bdb82020997e1d708af4cf47b453dcf7"),
                File(f"{TRAIN_LABELS}.gz", None, md5="e144d726b3acfaa3e44228e80efcd344"),
                File(f"{TEST_IMAGES}.gz", None, md5="5c965bf0a639b31b8f53240b1b52f4d7"),
                File(f"{TEST_LABELS}.gz", None, md5="7320c461ea6c1c855c0b718fb2a4b134"),
            ),
            KMNIST_URL,
            origin="Clanuwat et al. 2018, Deep learning for classical Japanese literature",
            licence="CC BY-SA 4.0",
            notes=(OWN_VALIDATION,),
        ),
        Source(
            name="notmnist",
            title="notMNIST, letters A to J",
            n_rows=10_000,
            n_features=784,
            image=IMAGE,
            n_splits=0,
            origin="Bulatov 2011, notMNIST: glyphs of publicly available fonts; a sample of its small part",
            licence="posted with its author's permission; the repository of the files is MIT (David Flanagan)",
            read=read_test_part,
            task="multiclass",
            n_classes=10,
            notes=("Only for other sets to be told apart from: it has no splits, and no suite runs it.",),
            files=_unpacked(
                {
                    TEST_IMAGES: "8e7f38ae95cc8f48e0986175ffc9137e5007ebcf3d8fdf6656c904eb9dab198b",
                    TEST_LABELS: "5f8e6012f2ce730700d8d05fca098bc47f71d25b890e4bec7ac5ebfd614a4001",
                },
                {},
            ),
            folder="notMNIST/raw",
            base_url=NOTMNIST_URL,
        ),
    )
