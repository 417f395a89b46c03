"""A check that the measures of this room share."""

import numpy as np


def without_nan(values: np.ndarray, name: str) -> np.ndarray:
    """Return the values.

    Args:
        values: any shape.
        name: name of the values, in the plural.

    Raises:
        ValueError: A value is NaN.
    """
    if n_unknown := int(np.isnan(values).sum()):
        raise ValueError(f"{name} should be numbers; {n_unknown} of {np.size(values)} are NaN")
    return values
