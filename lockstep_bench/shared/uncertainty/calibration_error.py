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
NUMBERS = 1 << 14  # of draws that are evaluated together, to stay in the caches

Errors = Callable[[np.ndarray], np.ndarray]  # of fixed predictions: from D outcomes of all points (D, n) to (D,)


def ece(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error, sum_b (n_b / n) gap_b.

    The B bins (0, 1/B], ..., ((B - 1)/B, 1] have equal width (Guo et al. 2017, eq. 3).
    """
    return float(ece_of(confidence, n_bins)(correct[None])[0])


def ece_of(confidence: np.ndarray, n_bins: int = N_BINS) -> Errors:
    """Return `ece` as a function of D draws of `correct`, (D, n), for fixed confidences (n,)."""
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
    drawn = (generator.integers(n, size=(count, n)) for count in at_once(RESAMPLES, n))
    low, high = np.quantile(
        np.concatenate([_weighted_gap(bins[rows], gaps[rows], n_bins) for rows in drawn]), [0.025, 0.975]
    )
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
    return float(ece_classwise_of(probabilities, n_bins)(labels[None])[0])


def ece_classwise_of(probabilities: np.ndarray, n_bins: int = N_BINS) -> Errors:
    """Return `ece_classwise` as a function of D draws of the labels, (D, n), for fixed probabilities (n, C)."""
    n, n_classes = without_nan(probabilities, "probabilities").shape
    bins = _equal_width(probabilities, n_bins) + n_bins * np.arange(n_classes)  # numbered over all classes
    predicted = np.bincount(bins.ravel(), probabilities.ravel(), n_bins * n_classes)
    points = np.arange(n)

    def errors(labels: np.ndarray) -> np.ndarray:
        observed = _sums(bins[points, labels], None, n_bins * n_classes)
        return np.asarray(np.abs(observed - predicted).sum(1) / (n * n_classes))

    return errors


def ece_equal_mass(confidence: np.ndarray, correct: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error, sum_b (n_b / n) gap_b, in bins with (nearly) equal numbers of points."""
    return float(ece_equal_mass_of(confidence, n_bins)(correct[None])[0])


def ece_equal_mass_of(confidence: np.ndarray, n_bins: int = N_BINS) -> Errors:
    """Return `ece_equal_mass` as a function of D draws of `correct`, (D, n), for fixed confidences (n,)."""
    bins, gaps = _equal_mass(confidence, n_bins)
    return lambda correct: _weighted_gap(bins, gaps(correct), n_bins)


def ece_20(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the unweighted mean of gap_b over 20 bins with equally many points; empty bins are left out.

    The DirectUQ paper describes this estimate (section 6.3): "bins of the same size according to the confidence level",
    whose differences are averaged "among all bins".
    """
    return float(ece_20_of(confidence)(correct[None])[0])


def ece_20_of(confidence: np.ndarray) -> Errors:
    """Return `ece_20` as a function of D draws of `correct`, (D, n), for fixed confidences (n,)."""
    bins, gaps = _equal_mass(confidence, 20)
    sizes = np.bincount(bins)
    return lambda correct: np.abs(_sums(bins, gaps(correct), len(sizes)) / sizes).mean(1)


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

    The gaps accuracy - confidence have the shape of `correct`, (D, n), and the order of the bins. Points of equal
    confidence share their mean accuracy, which makes the result independent of their order.
    """
    _, group = np.unique(confidence, return_inverse=True)
    sizes, order = np.bincount(group), np.argsort(confidence)
    bins = np.arange(len(order)) * min(n_bins, len(order)) // len(order)
    group, confidence = group[order], confidence[order]
    return bins, lambda correct: (_sums(group, correct[:, order], len(sizes)) / sizes)[:, group] - confidence


def at_once(draws: int, numbers: int) -> list[int]:
    """Return how many of the draws, of so many numbers each, are evaluated together: they add up to `draws`."""
    most = max(1, NUMBERS // numbers)
    return [min(most, draws - first) for first in range(0, draws, most)]


def _weighted_gap(bins: np.ndarray, gaps: np.ndarray, n_bins: int) -> np.ndarray:
    """Return sum_b (n_b / n) |mean of `gaps` in bin b|, (D,), for `gaps` (D, n) and `bins` (n,) or (D, n)."""
    return np.asarray(np.abs(_sums(bins, gaps, n_bins)).sum(1) / gaps.shape[1])


def _sums(bins: np.ndarray, values: np.ndarray | None, n_bins: int) -> np.ndarray:
    """Return the sum of `values` (D, n) in each bin, (D, n_bins); without values, the number of points.

    Args:
        bins: numbers of the points' bins, (n,) or (D, n).
        values: the values; None to count.
        n_bins: number of bins.
    """
    rows = len(bins if values is None else values)
    places = bins + n_bins * np.arange(rows)[:, None]
    sums = np.bincount(places.ravel(), None if values is None else values.ravel(), rows * n_bins)
    return sums.reshape(rows, n_bins)
