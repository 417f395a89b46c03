"""All pairs of methods on one data set: the corrected resampled t with moderated variances.

With five splits a variance has four degrees of freedom, and among 496 pairs of 32 methods some variances are tiny by
chance. Each is therefore shrunk towards a common value by empirical Bayes (Smyth 2004). If variances s^2 of d degrees
of freedom are scaled chi-squared around true ones, whose inverses are gamma distributed with d0 degrees of freedom
around 1 / s0^2, then

    s~^2 = (d0 s0^2 + d s^2) / (d0 + d),   t = difference / (s~ sqrt(1 / S + r))

has d0 + d degrees of freedom; d0 and s0 come from mean and variance of log s^2. If all pairs vary alike, d0 is large
and the pairs lend each other their splits; if they do not, d0 is small and each keeps its own variance.

The pairs of M methods hold only (M - 1)(S - 1) independent contrasts, and tests far out in the tails of t feel that d0
is an estimate. The degrees of freedom are therefore at most half of that number. Simulated leaderboards of 8 equal
methods on 20 sets of 5 splits chose the half: of 400, 7 % had a false verdict with the whole number, and 18 % without a
limit.
"""

from collections.abc import Sequence
from math import inf

import numpy as np
import scipy

from leaderboards.stats.significance import ALPHA, holm

FEWEST_SPLITS = 5  # with fewer, chance alone makes all of them agree more often than one time in 20
FEWEST_METHODS = 4  # with three pairs or fewer, the spread of log s^2 is not known


def significantly_worse(datasets: Sequence[tuple[np.ndarray, float]]) -> list[np.ndarray]:
    """Return for each data set booleans (M, M): the row's method is significantly worse than the column's.

    Holm's method adjusts all pairs of all data sets together. The probability of any false claim is at most 5 % for the
    whole leaderboard, not for each data set.

    Args:
        datasets: arguments of `pairwise_p_values`, losses and ratio of each data set.
    """
    p_values = [pairwise_p_values(losses, ratio) for losses, ratio in datasets]
    if not p_values:
        return []
    significant = holm(np.concatenate([matrix.ravel() for matrix in p_values])) <= ALPHA
    ends = np.cumsum([matrix.size for matrix in p_values])[:-1]
    return [part.reshape(m.shape) for part, m in zip(np.split(significant, ends), p_values, strict=True)]


def pairwise_p_values(losses: np.ndarray, ratio: float) -> np.ndarray:
    """Return one-sided p-values (M, M) that the row's method is worse than the column's, unadjusted.

    Args:
        losses: of one data set (S, M); a method with a NaN or an infinity is not tested.
        ratio: of the split scheme (`dependence`); nothing is tested where it is NaN.

    Returns:
        p-values; NaN on the diagonal and where nothing was tested. A difference that is the same on all splits has no
        standard error. It is certain from `FEWEST_SPLITS` splits on, and not tested with fewer.
    """
    n_splits, n_methods = losses.shape
    p_values = np.full((n_methods, n_methods), np.nan)
    tested = np.flatnonzero(np.isfinite(losses).all(axis=0))
    if n_splits < 2 or len(tested) < 2 or np.isnan(ratio):
        return p_values
    values = losses[:, tested]
    means = values.mean(axis=0)
    first, second = np.triu_indices(len(tested), 1)
    differences = means[first] - means[second]
    variances = (values[:, first] - values[:, second]).var(axis=0, ddof=1)
    df: float = n_splits - 1
    if len(tested) >= FEWEST_METHODS:
        variances, prior_and_own = moderated(variances, df)
        df = min(prior_and_own, max(df, (len(tested) - 1) * df / 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = differences / np.sqrt(variances * (1 / n_splits + ratio))
    t = np.where(differences == 0, 0.0, t)
    upper = scipy.stats.t.sf(t, df)
    if n_splits < FEWEST_SPLITS:
        upper[np.isinf(t)] = np.nan
    p_values[tested[first], tested[second]] = upper
    p_values[tested[second], tested[first]] = 1 - upper
    return p_values


def moderated(variances: np.ndarray, df: float) -> tuple[np.ndarray, float]:
    """Return variances (P,) shrunk towards a common value, and their degrees of freedom d0 + df.

    Variances of 0 are raised to 1e-5 times the median, so that their logarithm exists; if the median is 0, nothing is
    shrunk.
    """
    middle = np.median(variances)
    if middle == 0:
        return variances, df
    raised = np.maximum(variances, 1e-5 * middle)
    centred = np.log(raised) - scipy.special.digamma(df / 2) + np.log(df / 2)
    excess = centred.var(ddof=1) - scipy.special.polygamma(1, df / 2)
    if excess <= 0:  # no more spread than chance gives
        return np.full(len(variances), np.exp(centred.mean())), inf
    prior_df = 2 * _inverse_trigamma(float(excess))
    prior = np.exp(centred.mean() + scipy.special.digamma(prior_df / 2) - np.log(prior_df / 2))
    return (prior_df * prior + df * raised) / (prior_df + df), prior_df + df


def _inverse_trigamma(value: float) -> float:
    """Return y with trigamma(y) = value, by Newton's method on 1 / trigamma (Smyth 2004, appendix)."""
    y = 0.5 + 1 / value
    for _ in range(100):
        trigamma = scipy.special.polygamma(1, y)
        step = trigamma * (1 - trigamma / value) / scipy.special.polygamma(2, y)
        y += step
        if -step / y < 1e-8:
            break
    return float(y)
