"""Check for NaN, shared by the modules of `shared.uncertainty`."""

import numpy as np


def without_nan(values: np.ndarray, name: str) -> np.ndarray:
    """Return the values after a check that none is NaN.

    Args:
        values: any shape.
        name: name of the values in the plural, for the error message.

    Raises:
        ValueError: A value is NaN.
    """
    if n_unknown := int(np.isnan(values).sum()):
        raise ValueError(f"{name} should be numbers; {n_unknown} of {np.size(values)} are NaN")
    return values
