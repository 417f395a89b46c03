"""Detection of features that give the target away, such as a copy of it in another unit.

Rows in which a feature is missing are left out. A feature that is missing in more than half of the rows is not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

LEAST_CORRELATION = 0.9999  # in absolute value
LEAST_KNOWN = 0.5  # of a feature's rows


def gives_numbers_away(feature: pd.Series, y: np.ndarray) -> bool:
    """Return whether a feature's correlation with a regression target is above 0.9999 in absolute value.

    Args:
        feature: (N,), numbers.
        y: (N,), numbers.
    """
    known = feature.notna().to_numpy()
    x, y = _scaled(feature[known].to_numpy(dtype=float)), _scaled(y[known])
    if known.mean() < LEAST_KNOWN or not x.any() or not y.any():
        return False
    return bool(abs(np.corrcoef(x, y)[0, 1]) > LEAST_CORRELATION)


def gives_classes_away(feature: pd.Series, y: np.ndarray) -> bool:
    """Return whether a feature has one value in each class, and each class another one.

    Args:
        feature: (N,), numbers or texts.
        y: (N,), class numbers.
    """
    known = feature.notna().to_numpy()
    values, classes = feature[known].factorize()[0], y[known]
    pairs = np.unique(np.stack([values, classes]), axis=1)
    one_to_one = pairs.shape[1] == len(np.unique(values)) == len(np.unique(y))
    return one_to_one and bool(known.mean() >= LEAST_KNOWN)


def _scaled(numbers: np.ndarray) -> np.ndarray:
    """Return numbers scaled to the range from 0 to 1; zeros if they are all the same."""
    if not len(numbers) or numbers.max() == numbers.min():
        return np.zeros(len(numbers))
    return np.asarray((numbers - numbers.min()) / (numbers.max() - numbers.min()))
