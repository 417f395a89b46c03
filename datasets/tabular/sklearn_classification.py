"""Classification data sets that come with scikit-learn and need no download, in random splits of 90 % training rows."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from lockstep_bench.datasets.records import Source, Split
from lockstep_bench.datasets.splits import fixed_splits

N_SPLITS = 20
SEED = 2011  # the year of the scikit-learn paper; any fixed number would do
LICENCE = "none stated for the set itself; scikit-learn, which ships it, is BSD-3-Clause"
OWN_SPLITS = "Its 20 splits are this project's own, so no published table compares with them."
DIGITS = (
    "Alpaydin and Kaynak 1998, Cascading classifiers (Optical recognition of handwritten digits, its test part); as "
    "shipped by scikit-learn"
)
WRITERS = "The same 13 people wrote the images of both parts of a split, so it is easier than a new writer would be."
N_TASK_DIGITS = 5


def read(loader: str, contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x (N, P) in original units, y (N,) and the splits of the data set that `sklearn.datasets.<loader>` loads.

    `contents` is empty, because the data come with scikit-learn.
    """
    from sklearn import datasets as bundled

    x, y = getattr(bundled, loader)(return_X_y=True)
    return x, y, fixed_splits(len(y), N_SPLITS, SEED)


def read_digits_ood(
    contents: Mapping[str, bytes],
) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...], np.ndarray]:
    """Return x (N, 64), y (N,) and the splits of the digits 0 to 4, and OOD rows (n_ood, 64), the digits 5 to 9."""
    x, y, _ = read("load_digits", contents)
    known = y < N_TASK_DIGITS
    return x[known], y[known], fixed_splits(int(known.sum()), N_SPLITS, SEED), x[~known]


SOURCES = (
    Source(
        name="wdbc",
        title="Breast cancer Wisconsin (diagnostic)",
        n_rows=569,
        n_features=30,
        n_splits=N_SPLITS,
        origin="Street, Wolberg and Mangasarian 1993, Nuclear feature extraction for breast tumor diagnosis; as "
        "shipped by scikit-learn",
        licence=LICENCE,
        read=partial(read, "load_breast_cancer"),
        task="binary",
        n_classes=2,
        suites=("uci",),
        notes=("Class 0 is malignant and class 1 benign, as scikit-learn has it.", OWN_SPLITS),
    ),
    Source(
        name="wine-recognition",
        title="Wine recognition",
        n_rows=178,
        n_features=13,
        n_splits=N_SPLITS,
        origin="Forina et al., PARVUS (Institute of Pharmaceutical and Food Analysis and Technologies, Genoa); as "
        "shipped by scikit-learn",
        licence=LICENCE,
        read=partial(read, "load_wine"),
        task="multiclass",
        n_classes=3,
        suites=("uci",),
        notes=(
            "The classes can be separated almost without error, and a test part has 18 rows: one row is 5.6 % of its "
            "accuracy.",
            "Not the wine quality set, which is called `wine` here.",
            OWN_SPLITS,
        ),
    ),
    Source(
        name="digits",
        title="Handwritten digits, 8 x 8",
        n_rows=1797,
        n_features=64,
        n_splits=N_SPLITS,
        origin=DIGITS,
        licence=LICENCE,
        read=partial(read, "load_digits"),
        task="multiclass",
        n_classes=10,
        suites=("uci",),
        notes=("Features 0, 32 and 39 (counted from 0) are constant.", WRITERS, OWN_SPLITS),
    ),
    Source(
        name="digits-ood",
        title="Handwritten digits 0-4, OOD 5-9",
        n_rows=901,
        n_features=64,
        n_splits=N_SPLITS,
        origin=DIGITS,
        licence=LICENCE,
        read=read_digits_ood,
        task="multiclass",
        n_classes=N_TASK_DIGITS,
        n_ood=896,
        suites=("uci",),
        notes=(
            "The task is to tell the digits 0 to 4 apart; the images of 5 to 9 are out of distribution.",
            "Features 0, 32 and 39 (counted from 0) are constant.",
            WRITERS,
            OWN_SPLITS,
        ),
    ),
)
