"""A test that PIT values are uniform, and its simultaneous band around their distribution function.

The number R_z of n independent uniform values that are at most z is binomial(n, z). The test statistic is the smallest
of the two-sided binomial p values at z = 1/K, ..., (K - 1)/K, so that all parts of the distribution count alike
(Säilynoja et al. 2022). The Kolmogorov-Smirnov test, in contrast, is weak in the tails, where overconfidence shows. The
p value of this statistic is computed exactly: the increments of R have the distribution of a Poisson process,
conditioned on the sum n.
"""

from functools import lru_cache

import numpy as np
from scipy import special

from lockstep_bench.shared.uncertainty.numbers import without_nan

N_CELLS = 50  # K
POINTS = np.arange(1, N_CELLS) / N_CELLS
NEGLIGIBLE = 1e-18  # probability of an increment that is left out
TIE = 1 + 1e-9  # p values whose ratio is less are equal but for rounding


def uniformity_p_value(pit: np.ndarray) -> float:
    """Return the p value of the hypothesis that the values (n,) are independent and uniform on [0, 1].

    Raises:
        ValueError: A value is NaN or outside [0, 1], or the array is empty.
    """
    counts = _counts(pit)
    local = _local_p_values(len(pit))
    smallest = local[counts, np.arange(len(POINTS))].min()
    return min(max(1 - _probability(local > smallest * TIE), 0.0), 1.0)


def distribution(pit: np.ndarray) -> np.ndarray:
    """Return the empirical distribution function of the values (n,) at each of `POINTS`.

    Raises ValueError as `uniformity_p_value` does.
    """
    return _counts(pit) / len(pit)


@lru_cache(maxsize=64)
def uniform_band(n: int, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Return a simultaneous band for the empirical distribution function of n uniform values: its lower and upper ends.

    There is one pair of ends for each value in `POINTS`. With probability `level`, the distribution function lies
    within the band at all points. The test of `uniformity_p_value` rejects at significance 1 - level if and only if it
    leaves the band at some point.
    """
    local = _local_p_values(n)
    thresholds = np.unique(np.append(local, 0.0))
    low, high = 0, len(thresholds) - 1  # the probability falls with the threshold: bisection
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _probability(local > thresholds[middle] * TIE) >= level else (low, middle - 1)
    inside = local > thresholds[low] * TIE
    first, last = inside.argmax(axis=0), n - inside[::-1].argmax(axis=0)
    return first / n, last / n


def _counts(pit: np.ndarray) -> np.ndarray:
    values = without_nan(pit, "PIT values")
    if not len(values) or values.min() < 0 or values.max() > 1:
        raise ValueError("a test of uniformity needs PIT values, from 0 to 1; some are outside, or there are none")
    return np.searchsorted(np.sort(values), POINTS, side="right")


@lru_cache(maxsize=4)
def _local_p_values(n: int) -> np.ndarray:
    """Return the two-sided p value of each count 0, ..., n at each point, (n + 1, K - 1)."""
    k, below = np.arange(float(n))[:, None], np.ones((n + 1, len(POINTS)))
    below[:-1] = special.betaincc(k + 1, n - k, POINTS)  # of the binomial distribution
    smaller: np.ndarray = np.minimum(below, below[::-1, ::-1])  # by symmetry the upper tail is the lower one reversed
    return 2 * smaller


def _probability(inside: np.ndarray) -> float:
    """Return the probability that the counts of n uniform values are all `inside`, bool (n + 1, K - 1)."""
    n = len(inside) - 1
    increment = _poisson(np.arange(n + 1), n / N_CELLS)
    increment = increment[: np.flatnonzero(increment > NEGLIGIBLE)[-1] + 1]
    least, chances = 0, np.ones(1)  # probabilities of the counts least, least + 1, ...
    for allowed in inside.T:
        moved = np.convolve(chances, increment)[: n + 1 - least]
        chances = moved * allowed[least : least + len(moved)]
        if not chances.any():
            return 0.0
        kept = np.flatnonzero(chances)
        least, chances = least + kept[0], chances[kept[0] : kept[-1] + 1]
    rest = n - least - np.arange(len(chances))
    return float(chances @ _poisson(rest, n / N_CELLS) / _poisson(n, n))


def _poisson(k: np.ndarray | int, mean: float) -> np.ndarray:
    """Return the probability of k by a Poisson distribution; the import of scipy.stats takes 0.7 seconds."""
    return np.asarray(np.exp(special.xlogy(k, mean) - special.gammaln(np.asarray(k) + 1.0) - mean))
