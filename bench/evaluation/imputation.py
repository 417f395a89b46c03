"""Imputation of missing values by medians of the training rows, separately for each training part."""

from collections.abc import Sequence

import numpy as np


class Imputed:
    """Copies of a table's incomplete rows for every training part, filled with that part's medians.

    Each fit trains and predicts on the copies for its own training part. Its inputs therefore do not depend on the rows
    on which it is scored. Complete rows are not copied.

    Args:
        x: (N, P), NaN where a number is missing.
        n_others: number of other rows, such as OOD points, that come between the N rows and the copies.
        parts: row numbers of each training part.
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
        """Return x and y with the filled copies of all incomplete rows appended."""
        copies = list(self._copies.values())
        return np.concatenate([x, *copies]), np.concatenate([y, *[y[self._incomplete]] * len(copies)])

    def rows(self, wanted: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Return row numbers in the arrays of `appended` for row numbers of the table.

        An incomplete row is replaced by its copy that was filled for the training part.

        Args:
            wanted: row numbers in the table.
            part: row numbers of the training part.
        """
        places = self._places.copy()
        if self._copies:
            number = list(self._copies).index(part.tobytes())
            places[self._incomplete] = self._first + number * len(self._incomplete) + np.arange(len(self._incomplete))
        chosen: np.ndarray = places[wanted]
        return chosen
