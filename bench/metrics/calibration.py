"""Calibration: is a classifier right as often as it says?

Everything here takes the confidence (n,), the largest class probability, and whether that class was correct (n,). With
the points in bins, the gap of bin b is |accuracy_b - mean confidence_b|.
"""

import numpy as np
import pyarrow as pa

from bench.schema import RELIABILITY

N_BINS = 15
RESAMPLES = 500
BOOTSTRAP_SEED = 0


def ece(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """sum_b (n_b / n) gap_b over bins (0, 1/B], ..., ((B - 1)/B, 1] of equal width (Guo et al. 2017, eq. 3)."""
    return _weighted_gap(_equal_width(confidence, n_bins), correct - confidence, n_bins)


def ece_interval(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> tuple[float, float]:
    """The 2.5 % and 97.5 % points of `ece` over `RESAMPLES` samples of n points with replacement, of a fixed seed.

    A sample's noise adds to every gap, so that small errors come out too large, and resampled ones larger still: the
    interval of a well calibrated predictive can lie above its `ece`.
    """
    order = np.lexsort((correct, confidence))  # else the order of the points would matter
    confidence, correct = confidence[order], correct[order]
    bins, gaps, n = _equal_width(confidence, n_bins), correct - confidence, len(order)
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    # One sample at a time: n numbers in memory, not RESAMPLES x n.
    drawn = (generator.integers(n, size=n) for _ in range(RESAMPLES))
    low, high = np.quantile([_weighted_gap(bins[rows], gaps[rows], n_bins) for rows in drawn], [0.025, 0.975])
    return float(low), float(high)


def ece_equal_mass(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """sum_b (n_b / n) gap_b over B bins with equally many points, give or take one, in the order of confidence."""
    bins, gaps = _equal_mass(confidence, correct, n_bins)
    return _weighted_gap(bins, gaps, n_bins)


def ece_20(confidence: np.ndarray, correct: np.ndarray) -> float:
    """The mean of gap_b, not weighted, over those of 20 bins with equally many points that have any.

    This is how the DirectUQ paper describes its figures (section 6.3): "bins of the same size according to the
    confidence level", whose differences are averaged "among all bins".
    """
    bins, gaps = _equal_mass(confidence, correct, 20)
    return float(np.abs(np.bincount(bins, gaps) / np.bincount(bins)).mean())


def reliability(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> pa.Table:
    """What `ece` is made of, of `bench.schema.RELIABILITY`: sum_b (n_b / n) |accuracy_b - confidence_b| is that."""
    bins, edges = _equal_width(confidence, n_bins), np.linspace(0, 1, n_bins + 1)
    count = np.bincount(bins, minlength=n_bins)
    columns = {"low": edges[:-1], "high": edges[1:], "count": count}
    for name, values in {"confidence": confidence, "accuracy": correct}.items():
        mean = np.bincount(bins, values, n_bins) / np.maximum(count, 1)
        columns[name] = pa.array(mean, mask=count == 0)
    return pa.table({name: columns[name] for name in RELIABILITY.names}, schema=RELIABILITY)


def _equal_width(confidence: np.ndarray, n_bins: int) -> np.ndarray:
    """The bin of each point, (n,)."""
    return np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], confidence, side="left")


def _equal_mass(confidence: np.ndarray, correct: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Bin and accuracy less confidence of the points in the order of confidence, (n,) both.

    Points of equal confidence share their mean accuracy, so that their order does not matter.
    """
    _, group = np.unique(confidence, return_inverse=True)
    accuracy = np.bincount(group, correct) / np.bincount(group)
    order = np.argsort(confidence)
    bins = np.arange(len(order)) * min(n_bins, len(order)) // len(order)
    return bins, (accuracy[group] - confidence)[order]


def _weighted_gap(bins: np.ndarray, gaps: np.ndarray, n_bins: int) -> float:
    """sum_b (n_b / n) |mean of `gaps` (n,) in bin b|."""
    return float(np.abs(np.bincount(bins, gaps, n_bins)).sum() / len(gaps))
