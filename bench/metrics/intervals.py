"""Quantiles of predictives, and the interval score of central predictive intervals."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.bench.metrics.mixtures import mixture_quantile
from lockstep_bench.methods.maths.predictive import Normals, Regression


def quantiles(predictive: Regression, level: float) -> np.ndarray:
    """Return the quantile of the predictive at each point, (n,), for the probability `level`."""
    checks.predictive(predictive, *checks.REGRESSIONS)
    if not 0 < checks.reals(level, "level", "()") < 1:
        raise ValueError(f"level should be a probability between 0 and 1, exclusive, got {level}")
    if not isinstance(predictive, Normals):
        return distribution_of(predictive).quantile(level)
    # Points first, so that the components of one point lie side by side.
    mean, sd = predictive.mean.double().T.numpy(), predictive.variance.double().sqrt().T.numpy()

    def below(x: np.ndarray, point: np.ndarray) -> np.ndarray:
        probability: np.ndarray = ndtr((x[..., None] - mean[point]) / sd[point]).mean(-1)
        return probability

    return mixture_quantile(level, mean + sd * ndtri(level), sd.max(1), below)


def interval_scores(predictive: Regression, y: np.ndarray, percents: Sequence[int]) -> dict[int, float]:
    """Return the interval score of each central interval, averaged over points, in original target units.

    For the interval [l, u] of probability 1 - a the score is (u - l) + 2/a (l - y)_+ + 2/a (y - u)_+: the width, and a
    penalty for the targets outside (Gneiting and Raftery 2007, eq. 43). The true interval minimises its expectation.

    Args:
        predictive: the predictive at n test points.
        y: (n,), targets.
        percents: probabilities of the intervals, in per cent.
    """
    y = checks.targets(predictive, y, *checks.REGRESSIONS).cpu().numpy()
    scores = {}
    for percent in percents:
        tail = (1 - percent / 100) / 2
        low, high = quantiles(predictive, tail), quantiles(predictive, 1 - tail)
        outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
        scores[percent] = float((high - low + outside / tail).mean())
    return scores
