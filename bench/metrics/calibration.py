"""Calibration errors of a classifier.

All functions take `confidence` (n,), the largest class probability per point, and `correct` (n,), whether that class is
the true one. Points are grouped into bins; the gap of bin b is |accuracy_b - mean confidence_b|.
"""

import numpy as np
import pyarrow as pa

from bench.schema import RELIABILITY

N_BINS = 15
RESAMPLES = 500
BOOTSTRAP_SEED = 0


def ece(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error, sum_b (n_b / n) gap_b.

    The B bins (0, 1/B], ..., ((B - 1)/B, 1] have equal width (Guo et al. 2017, eq. 3).
    """
    return _weighted_gap(_equal_width(confidence, n_bins), correct - confidence, n_bins)


def ece_interval(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of `ece` over `RESAMPLES` bootstrap samples of the points.

    The seed is fixed. The estimate `ece` is biased upwards by sampling noise, and its bootstrap replicates more so:
    the interval of a well calibrated predictive can lie above its `ece`.
    """
    order = np.lexsort((correct, confidence))  # makes the result independent of the order of the points
    confidence, correct = confidence[order], correct[order]
    bins, gaps, n = _equal_width(confidence, n_bins), correct - confidence, len(order)
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    # One sample at a time: n numbers in memory, not RESAMPLES x n.
    drawn = (generator.integers(n, size=n) for _ in range(RESAMPLES))
    low, high = np.quantile([_weighted_gap(bins[rows], gaps[rows], n_bins) for rows in drawn], [0.025, 0.975])
    return float(low), float(high)


def ece_equal_mass(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return sum_b (n_b / n) gap_b over B bins with equally many points (up to one), in the order of confidence."""
    bins, gaps = _equal_mass(confidence, correct, n_bins)
    return _weighted_gap(bins, gaps, n_bins)


def ece_20(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the unweighted mean of gap_b over the non-empty ones of 20 bins with equally many points.

    The DirectUQ paper describes this estimate (section 6.3): "bins of the same size according to the confidence level",
    whose differences are averaged "among all bins".
    """
    bins, gaps = _equal_mass(confidence, correct, 20)
    return float(np.abs(np.bincount(bins, gaps) / np.bincount(bins)).mean())


def reliability(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> pa.Table:
    """Return the reliability diagram: the edges, count, mean confidence and accuracy of each bin of `ece`.

    The columns are those of `bench.schema.RELIABILITY`; means of empty bins are null.
    """
    bins, edges = _equal_width(confidence, n_bins), np.linspace(0, 1, n_bins + 1)
    count = np.bincount(bins, minlength=n_bins)
    columns = {"low": edges[:-1], "high": edges[1:], "count": count}
    for name, values in {"confidence": confidence, "accuracy": correct}.items():
        mean = np.bincount(bins, values, n_bins) / np.maximum(count, 1)
        columns[name] = pa.array(mean, mask=count == 0)
    return pa.table({name: columns[name] for name in RELIABILITY.names}, schema=RELIABILITY)


def _equal_width(confidence: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the number of each point's bin, (n,)."""
    return np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], confidence, side="left")


def _equal_mass(confidence: np.ndarray, correct: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bin numbers and accuracy - confidence of the points, sorted by confidence, (n,) each.

    Points of equal confidence share their mean accuracy, which makes the result independent of their order.
    """
    _, group = np.unique(confidence, return_inverse=True)
    accuracy = np.bincount(group, correct) / np.bincount(group)
    order = np.argsort(confidence)
    bins = np.arange(len(order)) * min(n_bins, len(order)) // len(order)
    return bins, (accuracy[group] - confidence)[order]


def _weighted_gap(bins: np.ndarray, gaps: np.ndarray, n_bins: int) -> float:
    """Return sum_b (n_b / n) |mean of `gaps` in bin b| for `gaps` and `bins` (n,)."""
    return float(np.abs(np.bincount(bins, gaps, n_bins)).sum() / len(gaps))
