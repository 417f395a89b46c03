"""Quantiles of predictives, and the interval score of central predictive intervals."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.bench.metrics.mixtures import mixture_quantile
from lockstep_bench.methods.maths.predictive import Normals, Regression

NUMBERS_AT_ONCE = 1 << 20  # components x levels whose quantiles are searched together, 8 MiB


def quantiles(predictive: Regression, *levels: float) -> np.ndarray:
    """Return the quantiles of the predictive at each of n points for L probabilities, (L, n)."""
    checks.predictive(predictive, *checks.REGRESSIONS)
    for level in levels:
        if not 0 < checks.reals(level, "level", "()") < 1:
            raise ValueError(f"level should be a probability between 0 and 1, exclusive, got {level}")
    if not isinstance(predictive, Normals):
        distribution = distribution_of(predictive)
        return np.stack([distribution.quantile(level) for level in levels])
    # Points first, so that the components of one point lie side by side.
    mean, sd = predictive.mean.double().T.numpy(), predictive.variance.double().sqrt().T.numpy()
    # A search takes as many steps for a thousand quantiles as for one.
    at_once = max(1, NUMBERS_AT_ONCE // mean.size)
    parts = (np.array(levels[first : first + at_once]) for first in range(0, len(levels), at_once))
    return np.concatenate([_of_normals(mean, sd, part) for part in parts])


def _of_normals(mean: np.ndarray, sd: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the quantiles (L, n) of equal mixtures of S normals, (n, S), for the probabilities `levels` (L,)."""

    def below(x: np.ndarray, place: np.ndarray) -> np.ndarray:
        point = place % len(mean)
        probability: np.ndarray = ndtr((x[..., None] - mean[point]) / sd[point]).mean(-1)
        return probability

    of_components = (mean + sd * ndtri(levels)[:, None, None]).reshape(-1, mean.shape[1])
    spread = np.tile(sd.max(1), len(levels))
    return mixture_quantile(np.repeat(levels, len(mean)), of_components, spread, below).reshape(len(levels), -1)


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
    tails = [(1 - percent / 100) / 2 for percent in percents]
    ends = quantiles(predictive, *tails, *(1 - tail for tail in tails))
    scores = {}
    for percent, tail, low, high in zip(percents, tails, *np.split(ends, 2), strict=True):
        outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
        scores[percent] = float((high - low + outside / tail).mean())
    return scores
