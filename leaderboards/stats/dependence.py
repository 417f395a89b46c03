"""Dependence between the splits of a data set, which share rows.

Splits that are cut from the same rows share training rows, and their results are correlated. For the difference of two
methods, whose standard deviation over splits is sigma, the variance of the mean over S splits is then not sigma^2 / S
but about

    sigma^2 (1 / S + rho / (1 - rho)),  rho = n_test / (n_train + n_test),

so that rho / (1 - rho) = n_test / n_train (Nadeau and Bengio 2003). This number is called the ratio of a split scheme:

- random splits: n_test / n_train, 1/9 for 90 % training rows and 1 for halves;
- k folds: 1 / (k - 1), which is the same number;
- splits along features, which test on a third of the rows: 1/2;
- splits that share no rows: 0;
- splits that share one test set: unknown. The error that this test set causes is the same on all splits, so that it
  cannot be estimated from their differences.
"""

from math import nan

import pandas as pd

from lockstep_bench.leaderboards.stats.schemes import splits_of

FEWEST_EXPERIMENTS = 2.0  # independent ones, with fewer of which t has no degree of freedom


def ratios(cells: pd.DataFrame) -> dict[str, float]:
    """Return n_test / n_train of each data set's splits, by data set (`ratio_of`).

    Args:
        cells: columns dataset, n_train and n_test.
    """
    sizes = cells.groupby("dataset")[["n_train", "n_test"]].mean()
    return {str(dataset): ratio_of(str(dataset), *means) for dataset, *means in sizes.itertuples(name=None)}


def ratio_of(dataset: str, n_train: float, n_test: float) -> float:
    """Return n_test / n_train of a data set's splits; NaN if their scheme or a size is unknown.

    Args:
        dataset: name of the data set.
        n_train: mean number of training rows.
        n_test: mean number of test rows.
    """
    splits = splits_of(dataset)
    of_sizes = n_test / n_train if n_test > 0 and n_train > 0 else nan  # rows of others may state any size
    if splits.along_features:
        return of_sizes
    return {"resampled": of_sizes, "drawn": 0.0}.get(splits.scheme, nan)


def effective(n_splits: int, ratio: float) -> float:
    """Return how many independent experiments S splits are equivalent to, 1 / (1 / S + r); NaN if r is NaN."""
    return 1 / (1 / n_splits + ratio) if n_splits else 0.0
