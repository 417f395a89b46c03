"""Missing values, filled for each training part by its own medians."""

from collections.abc import Sequence

import numpy as np


class Imputed:
    """Copies of a table's incomplete rows, one for every training part, filled by that part's medians.

    Complete rows are shared. Fits and predictions take the copies of their own training part, so that nothing of the
    rows that a fit is scored on reaches its inputs.

    Args:
        x: (N, P), NaN where a number is missing.
        n_others: rows that follow these N before the copies.
        parts: rows of each training part.
    """

    def __init__(self, x: np.ndarray, n_others: int, parts: Sequence[np.ndarray]):
        from sklearn.impute import SimpleImputer

        self._incomplete, self._first = np.flatnonzero(np.isnan(x).any(axis=1)), len(x) + n_others
        self._places = np.arange(len(x))
        self._copies: dict[bytes, np.ndarray] = {}
        for part in parts if len(self._incomplete) else ():
            imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(x[part])
            self._copies[part.tobytes()] = imputer.transform(x[self._incomplete])

    def appended(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y with the filled copies of incomplete rows appended."""
        copies = list(self._copies.values())
        return np.concatenate([x, *copies]), np.concatenate([y, *[y[self._incomplete]] * len(copies)])

    def rows(self, wanted: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Return the places, in `appended`, of rows of the table that are filled by the medians of a training part."""
        places = self._places.copy()
        if self._copies:
            number = list(self._copies).index(part.tobytes())
            places[self._incomplete] = self._first + number * len(self._incomplete) + np.arange(len(self._incomplete))
        chosen: np.ndarray = places[wanted]
        return chosen
