"""How much the splits of a data set depend on each other.

Splits that are cut from the same rows share training rows, and their results are correlated. For the difference of two
methods, whose standard deviation over splits is sigma, the variance of the mean over S splits is then not sigma^2 / S
but about

    sigma^2 (1 / S + rho / (1 - rho)),  rho = n_test / (n_train + n_test),

so that rho / (1 - rho) = n_test / n_train (Nadeau and Bengio 2003). This number is called the ratio of a split scheme:

- random splits: n_test / n_train, 1/9 for 90 % training rows and 1 for halves;
- k folds: 1 / (k - 1), which is the same number;
- gap splits, which test on the middle third of one input: 1/2;
- splits that have rows of their own: 0;
- splits with one common test part: unknown. What they have in common cannot be seen from their differences.
"""

from math import nan

import pandas as pd


def ratios(cells: pd.DataFrame) -> dict[str, float]:
    """Return the ratio of each data set's split scheme; NaN where it is unknown.

    A data set that is not registered on this machine is taken to be resampled. That is cautious where splits have rows
    of their own.

    Args:
        cells: columns dataset, n_train and n_test.
    """
    sizes = cells.groupby("dataset")[["n_train", "n_test"]].mean()
    by_dataset = {}
    for dataset, n_train, n_test in sizes.itertuples(name=None):
        scheme = _scheme(str(dataset))
        by_dataset[str(dataset)] = {"resampled": n_test / n_train, "drawn": 0.0}.get(scheme, nan)
    return by_dataset


def _scheme(dataset: str) -> str:
    try:
        import datasets

        return datasets.entry(dataset).split_scheme
    except Exception:  # a plug-in may raise anything, and a machine that only publishes lacks what `datasets` imports
        return "resampled"
