"""Which methods rank behind the best by more than chance, told for all of them at once."""

import numpy as np

from leaderboards.stats.resampling import LEVEL


def behind_the_best(means: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Whether each of M methods (M,) is behind the one with the smallest of `means` (M,), from `draws` (n, M) of them.

    With d_m the mean rank of method m less that of the best, d*_m its resamples and se_m their standard deviation, m is
    behind if

        d_m / se_m > c,  c the 95 % quantile of max_m (d*_m - mean d*_m) / se_m:

    the single-step maximum test (Romano and Wolf 2005), by which the chance to call any method behind that is not
    is 5 % for all rivals together. A distance that is the same in every resample is no chance at all.
    """
    best = int(np.argmin(means))
    distance, resampled = means - means[best], draws - draws[:, [best]]
    spread = resampled.std(axis=0)
    varies = spread > 1e-12
    found = ~varies & (distance > 0)
    if varies.any():
        deviations = (resampled[:, varies] - resampled[:, varies].mean(axis=0)) / spread[varies]
        found[varies] = distance[varies] / spread[varies] > np.quantile(deviations.max(axis=1), LEVEL)
    return found
