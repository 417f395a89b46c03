"""The regression data set "diabetes", which comes with scikit-learn and needs no download."""

from collections.abc import Mapping

import numpy as np

from lockstep_bench.datasets.records import Source, Split
from lockstep_bench.datasets.splits import fixed_splits

N_SPLITS = 20
SEED = 2004  # the year of the paper; any fixed number would do


def read(contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x (442, 10) in original units, y (442,) and the splits.

    `contents` is empty, because the data come with scikit-learn.
    """
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True, scaled=False)
    return x, y, fixed_splits(len(y), N_SPLITS, SEED)


SOURCE = Source(
    name="diabetes",
    title="Diabetes progression",
    n_rows=442,
    n_features=10,
    n_splits=N_SPLITS,
    origin="Efron, Hastie, Johnstone and Tibshirani 2004, Least angle regression; as shipped by scikit-learn",
    licence="none stated for the set itself; scikit-learn, which ships it, is BSD-3-Clause",
    read=read,
    suites=("uci",),
    noise_precisions=(1e-4, 1e-2),
    notes=("Its 20 splits are this project's own, so no published table compares with them.",),
)
