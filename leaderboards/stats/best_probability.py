"""The probability that a method is the best, from a hierarchical model of its ranks.

Ranks on each of n blocks (data sets, or splits of one data set) become normal scores z = Phi^-1((rank - 1/2) / M). Then

    z_bm = a_m + e_bm,   a_m ~ N(0, tau^2),   e_bm ~ N(0, sigma^2),

where the mean of e over blocks has the variance h sigma^2: h = 1 / n for data sets, and 1 / n + r for splits with r =
n_test / n_train (the module `dependence`). The share B = h sigma^2 / (h sigma^2 + tau^2) of chance in the differences
of means has a uniform prior (Strawderman 1971, Morris 1983) and sigma^2 the prior 1 / sigma^2. If methods do not differ
by more than chance would let them, B is near 1, the effects a_m are shrunk towards each other, and the probabilities
are near 1 / M.
"""

import numpy as np
import scipy

from lockstep_bench.leaderboards.stats.ranks import ranks

N_DRAWS = 4000
SHARES = (np.arange(200) + 0.5) / 200  # grid of B


def best_probabilities(losses: np.ndarray, ratio: float = 0.0, n_draws: int = N_DRAWS) -> np.ndarray:
    """Return the posterior probabilities that each of M methods has the smallest effect; they add up to 1.

    Args:
        losses: losses on n blocks of M methods (n, M), low is good; NaN are failures and share the last ranks.
        ratio: r = n_test / n_train of splits that share rows (`dependence`); 0 for independent blocks.
        n_draws: number of draws of the posterior.

    Returns:
        Probabilities (M,); NaN with fewer than two blocks or an unknown ratio.
    """
    n_blocks, n_methods = losses.shape
    if n_methods == 1:
        return np.ones(1)
    if n_blocks < 2 or np.isnan(ratio):
        return np.full(n_methods, np.nan)
    scores = scipy.special.ndtri((ranks(losses) - 0.5) / n_methods)
    means = scores.mean(axis=0) - scores.mean()
    residuals = scores - scores.mean(axis=1, keepdims=True) - means
    h = 1 / n_blocks + ratio
    within, between = np.sum(residuals**2), np.sum(means**2) / h
    df = n_blocks * (n_methods - 1)
    if within + between == 0:  # all ranks are ties
        return np.full(n_methods, 1 / n_methods)

    # sigma^2 is integrated out: within / sigma^2 and B between / sigma^2 are chi-squared, with df together.
    sums = np.maximum(within + SHARES * between, 1e-12)
    log_density = (n_methods - 1) / 2 * np.log(SHARES) - df / 2 * np.log(sums)
    density = np.exp(log_density - log_density.max())
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(SHARES), n_draws, p=density / density.sum())
    share = SHARES[chosen][:, None]
    variance = sums[chosen][:, None] / rng.chisquare(df, (n_draws, 1))
    effects = (1 - share) * means + np.sqrt((1 - share) * h * variance) * rng.standard_normal((n_draws, n_methods))
    return np.bincount(effects.argmin(axis=1), minlength=n_methods) / n_draws
