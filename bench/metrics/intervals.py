"""Central predictive intervals, and their interval score."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import ndtr, ndtri

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.single import distribution_of
from lockstep_bench.methods.maths.predictive import Histogram, Normals, Quantiles, Regression, StudentT

MARGIN = 1e-6  # around the range of the components' quantiles, in standard deviations of the widest one


def quantiles(predictive: Regression, level: float) -> np.ndarray:
    """Return the quantile of the predictive at each point, (n,), for a probability.

    A quantile of a mixture lies between the smallest and the largest one of its components.
    """
    checks.predictive(predictive, Normals, StudentT, Quantiles, Histogram)
    if not 0 < checks.reals(level, "level", "()") < 1:
        raise ValueError(f"level should be a probability between 0 and 1, exclusive, got {level}")
    if not isinstance(predictive, Normals):
        return distribution_of(predictive).quantile(level)
    # Points first, so that the components of one point lie side by side.
    mean, sd = predictive.mean.double().T.numpy(), predictive.variance.double().sqrt().T.numpy()
    of_components = mean + sd * ndtri(level)
    lowest, highest = of_components.min(1), of_components.max(1)
    # Beside a large mean a small standard deviation is less than the distance of two floating-point numbers.
    margin = MARGIN * sd.max(1) + 4 * np.spacing(np.maximum(abs(lowest), abs(highest)))

    def excess(x: np.ndarray, point: np.ndarray) -> np.ndarray:
        probability: np.ndarray = ndtr((x[..., None] - mean[point]) / sd[point]).mean(-1) - level
        return probability

    found = find_root(excess, (lowest - margin, highest + margin), args=(np.arange(len(mean)),))
    return np.where(found.success, found.x, np.nan)


def interval_scores(predictive: Regression, y: np.ndarray, percents: Sequence[int]) -> dict[int, float]:
    """Return the interval score of each central interval, mean over points, original target units.

    For the interval [l, u] of probability 1 - a it is (u - l) + 2/a (l - y)_+ + 2/a (y - u)_+: the width, and a penalty
    for the targets outside (Gneiting and Raftery 2007, eq. 43). The true interval minimises its expectation.

    Args:
        predictive: the predictive at n test points.
        y: (n,), targets.
        percents: probabilities of the intervals, per cent.
    """
    y = checks.targets(predictive, y, Normals, StudentT, Quantiles, Histogram).cpu().numpy()
    scores = {}
    for percent in percents:
        tail = (1 - percent / 100) / 2
        low, high = quantiles(predictive, tail), quantiles(predictive, 1 - tail)
        outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
        scores[percent] = float((high - low + outside / tail).mean())
    return scores
