"""The single-step maximum test: which mean ranks differ significantly from the best, for all rivals at once."""

import numpy as np

from leaderboards.stats.bootstrap import LEVEL


def significantly_worse_than_best(means: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return for each of M methods whether it is significantly worse than the one with the smallest mean.

    With d_m the mean rank of method m less that of the best, d*_m its resamples and se_m their standard deviation,
    method m is significantly worse if

        d_m / se_m > c,  c the 95 % quantile of max_m (d*_m - mean d*_m) / se_m

    (Romano and Wolf 2005). The probability of at least one false positive among all rivals is 5 %. A positive
    difference that is the same in every resample is significant.

    Args:
        means: mean ranks (M,).
        draws: resamples of the mean ranks (n, M).

    Returns:
        Booleans (M,).
    """
    best = int(np.argmin(means))
    difference, resampled = means - means[best], draws - draws[:, [best]]
    spread = resampled.std(axis=0)
    varies = spread > 1e-12
    worse: np.ndarray = ~varies & (difference > 0)
    if varies.any():
        deviations = (resampled[:, varies] - resampled[:, varies].mean(axis=0)) / spread[varies]
        worse[varies] = difference[varies] / spread[varies] > np.quantile(deviations.max(axis=1), LEVEL)
    return worse
