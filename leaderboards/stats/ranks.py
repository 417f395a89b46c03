"""Ranks of losses, and quantiles of the range of normal variables (the studentized range)."""

from functools import lru_cache

import numpy as np
import scipy

NORMAL = np.linspace(-9.0, 9.0, 361)  # grid, on which the trapezoidal rule is exact to rounding for normal densities


def ranks(losses: np.ndarray) -> np.ndarray:
    """Return the ranks (n, M) of losses (n, M) in each row, ties at their mean; NaN are failures and share the last.

    They are those of `scipy.stats.rankdata`; the import of scipy.stats takes as long as a whole ranking.
    """
    known = np.where(np.isnan(losses), np.inf, losses)
    pairs = zip(np.sort(known, axis=1), known, strict=True)
    both = [np.searchsorted(ordered, row) + np.searchsorted(ordered, row, "right") + 1 for ordered, row in pairs]
    return np.reshape(both, losses.shape) / 2


@lru_cache(maxsize=1024)
def range_quantile(level: float, n: int) -> float:
    """Return a quantile of the range of n independent standard normal variables, by bisection.

    Their range is at most q with the probability n int phi(z) (Phi(z + q) - Phi(z))^(n-1) dz, where z is the smallest.
    It is `scipy.stats.studentized_range.ppf(level, n, inf)`.
    """
    density = n * np.exp(-(NORMAL**2) / 2) / np.sqrt(2 * np.pi) * (NORMAL[1] - NORMAL[0])
    below = scipy.special.ndtr(NORMAL)
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        probability = density @ (scipy.special.ndtr(NORMAL + middle) - below) ** (n - 1)
        low, high = (middle, high) if probability < level else (low, middle)
    return high
