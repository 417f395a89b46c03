"""Calibration errors of a classifier.

Most functions take `confidence` (n,), the largest class probability per point, and `correct` (n,), whether that class
is the true one. Points are grouped into bins by their confidence. Bin b has n_b of the n points, and
gap_b = |accuracy_b - mean confidence_b|.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lockstep_bench.shared.schema import RELIABILITY
from lockstep_bench.shared.uncertainty.numbers import without_nan

N_BINS = 15
RESAMPLES = 500
BOOTSTRAP_SEED = 0

Error = Callable[[np.ndarray], float]  # of fixed predictions, as a function of what came true


def ece(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error, sum_b (n_b / n) gap_b.

    The B bins (0, 1/B], ..., ((B - 1)/B, 1] have equal width (Guo et al. 2017, eq. 3).
    """
    return ece_of(confidence, n_bins)(correct)


def ece_of(confidence: np.ndarray, n_bins: int = N_BINS) -> Error:
    """Return `ece` as a function of `correct`, for fixed confidences (n,)."""
    bins = _equal_width(confidence, n_bins)
    return lambda correct: _weighted_gap(bins, correct - confidence, n_bins)


def ece_interval(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of `ece` over `RESAMPLES` bootstrap samples of the points.

    The seed is fixed. Sampling noise biases `ece` upwards, and its values on bootstrap samples even more. The interval
    of a well calibrated predictive can therefore lie above its `ece`.
    """
    order = np.lexsort((correct, confidence))  # makes the result independent of the order of the points
    confidence, correct = confidence[order], correct[order]
    bins, gaps, n = _equal_width(confidence, n_bins), correct - confidence, len(order)
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    # One sample at a time: n numbers in memory, not RESAMPLES x n.
    drawn = (generator.integers(n, size=n) for _ in range(RESAMPLES))
    low, high = np.quantile([_weighted_gap(bins[rows], gaps[rows], n_bins) for rows in drawn], [0.025, 0.975])
    return float(low), float(high)


def squared_debiased(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the squared calibration error in the bins of `ece`, without the bias that sampling noise gives `ece`.

    It is sum_b (n_b / n) u_b with u_b = (mean g)^2 - (sample variance of g) / n_b, for the differences g = correct -
    confidence of a bin's points. Its expectation is 0 for calibrated predictions, so it may be negative. This is the
    debiased estimator of Kumar et al. (2019, section 5), which assumes equal confidences within a bin. With g in place
    of `correct`, its expectation is right for unequal confidences too.

    Bins with a single point, whose variance is unknown, are left out. The result is NaN if no bin has two points.
    """
    bins, gaps = _equal_width(without_nan(confidence, "confidences"), n_bins), correct - confidence
    count = np.bincount(bins, minlength=n_bins)
    total, squares = np.bincount(bins, gaps, n_bins), np.bincount(bins, gaps**2, n_bins)
    several = count >= 2
    if not several.any():
        return float("nan")
    # n_b u_b is the sum of g_i g_j over pairs i != j, divided by n_b - 1.
    weighted = (total**2 - squares)[several] / (count[several] - 1)
    return float(weighted.sum() / count[several].sum())


def ece_classwise(probabilities: np.ndarray, labels: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the classwise ECE: mean over classes of sum_b (n_b / n) |share of the class in bin b - mean p(class)|.

    The bins of a class have equal width in its own probability (Kull et al. 2019; the static calibration error of
    Nixon et al. 2019). A class that never occurs counts with its mean probability.

    Args:
        probabilities: (n, C), predicted class probabilities.
        labels: (n,), class numbers.
        n_bins: B, number of bins.
    """
    return ece_classwise_of(probabilities, n_bins)(labels)


def ece_classwise_of(probabilities: np.ndarray, n_bins: int = N_BINS) -> Error:
    """Return `ece_classwise` as a function of the labels, for fixed probabilities (n, C)."""
    n, n_classes = without_nan(probabilities, "probabilities").shape
    bins = _equal_width(probabilities, n_bins) + n_bins * np.arange(n_classes)  # numbered over all classes
    predicted = np.bincount(bins.ravel(), probabilities.ravel(), n_bins * n_classes)
    points = np.arange(n)

    def error(labels: np.ndarray) -> float:
        observed = np.bincount(bins[points, labels], minlength=n_bins * n_classes)
        return float(np.abs(observed - predicted).sum() / (n * n_classes))

    return error


def ece_equal_mass(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error, sum_b (n_b / n) gap_b, in bins with (nearly) equal numbers of points."""
    return ece_equal_mass_of(confidence, n_bins)(correct)


def ece_equal_mass_of(confidence: np.ndarray, n_bins: int = N_BINS) -> Error:
    """Return `ece_equal_mass` as a function of `correct`, for fixed confidences (n,)."""
    bins, gaps = _equal_mass(confidence, n_bins)
    return lambda correct: _weighted_gap(bins, gaps(correct), n_bins)


def ece_20(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the unweighted mean of gap_b over 20 bins with equally many points; empty bins are left out.

    The DirectUQ paper describes this estimate (section 6.3): "bins of the same size according to the confidence level",
    whose differences are averaged "among all bins".
    """
    return ece_20_of(confidence)(correct)


def ece_20_of(confidence: np.ndarray) -> Error:
    """Return `ece_20` as a function of `correct`, for fixed confidences (n,)."""
    bins, gaps = _equal_mass(confidence, 20)
    return lambda correct: float(np.abs(np.bincount(bins, gaps(correct)) / np.bincount(bins)).mean())


def reliability(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> pa.Table:
    """Return the reliability diagram: the edges, count, mean confidence and accuracy of each bin of `ece`.

    The columns are those of `shared.schema.RELIABILITY`; means of empty bins are null.
    """
    bins, edges = _equal_width(confidence, n_bins), np.linspace(0, 1, n_bins + 1)
    count = np.bincount(bins, minlength=n_bins)
    columns = {"low": edges[:-1], "high": edges[1:], "count": count}
    for name, values in {"confidence": confidence, "accuracy": correct}.items():
        mean = np.bincount(bins, values, n_bins) / np.maximum(count, 1)
        columns[name] = pa.array(mean, mask=count == 0)
    return pa.table({name: columns[name] for name in RELIABILITY.names}, schema=RELIABILITY)


def _equal_width(confidence: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the number of each confidence's bin, in the shape of `confidence`."""
    return np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], confidence, side="left")


def _equal_mass(confidence: np.ndarray, n_bins: int) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return the bin numbers of the points in the order of confidence, (n,), and a function from `correct` to gaps.

    The gaps accuracy - confidence (n,) have the same order. Points of equal confidence share their mean accuracy, which
    makes the result independent of their order.
    """
    _, group = np.unique(confidence, return_inverse=True)
    sizes, order = np.bincount(group), np.argsort(confidence)
    bins = np.arange(len(order)) * min(n_bins, len(order)) // len(order)
    return bins, lambda correct: ((np.bincount(group, correct) / sizes)[group] - confidence)[order]


def _weighted_gap(bins: np.ndarray, gaps: np.ndarray, n_bins: int) -> float:
    """Return sum_b (n_b / n) |mean of `gaps` in bin b| for `gaps` and `bins` (n,)."""
    return float(np.abs(np.bincount(bins, gaps, n_bins)).sum() / len(gaps))
