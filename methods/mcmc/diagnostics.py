"""Have Markov chains converged, and how many independent draws are they worth? (Vehtari et al. 2021)

Both answers are about any number that each draw has: a weight, a prediction. Each chain is split into halves, so that
a drift within it shows as a difference between chains, and draws are replaced by the normal scores of their ranks,

    z = Phi^-1((rank - 3/8) / (S + 1/4)),

so that heavy tails do no harm.
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata


def r_hat(values: np.ndarray) -> np.ndarray:
    """Rank-normalised split R-hat (...) of values (chains, draws, ...); 1 when converged, below 1.01 when good.

    sqrt of the variance of all draws over the mean variance within a chain; the larger of that of the draws and that of
    their distance from the median, which tells of chains that differ in spread alone. Not a number for constants.
    """
    halves = _halves(values)
    distances = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_ratio(_normal_scores(halves)), _ratio(_normal_scores(distances)))


def effective_sample_size(values: np.ndarray) -> np.ndarray:
    """Bulk effective sample size (...) of values (chains, draws, ...): independent draws with the same error of a mean.

    S / tau with tau = -1 + 2 sum_k P_k, where P_k is the sum of the autocorrelations at lags 2k and 2k + 1; the sum
    ends before the first negative P_k and each P_k counts for no more than the one before (Geyer 1992). At most
    S log10(S), as antithetic chains can be worth more than S. Not a number for constants.
    """
    scores = _normal_scores(_halves(values))
    count = scores.shape[0] * scores.shape[1]
    rho = _autocorrelations(scores)
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2, *rho.shape[1:]).sum(axis=1)
    pairs = np.where(np.logical_or.accumulate(pairs < 0), 0, np.minimum.accumulate(pairs))
    return count / np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(count))


def _halves(values: np.ndarray) -> np.ndarray:
    """(2 chains, draws / 2, ...): without the middle draw where their number is odd."""
    values = np.asarray(values, dtype=np.float64)
    draws = values.shape[1]
    if draws < 4:
        raise ValueError(f"chains of {draws} draws cannot be judged; at least 4 are needed")
    return np.concatenate([values[:, : draws // 2], values[:, draws - draws // 2 :]])


def _normal_scores(values: np.ndarray) -> np.ndarray:
    pooled = values.reshape(values.shape[0] * values.shape[1], -1)
    return ndtri((rankdata(pooled, axis=0) - 0.375) / (len(pooled) + 0.25)).reshape(values.shape)


def _variances(chains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean variance within a chain, and the variance of all draws: each (...), of (chains, draws, ...)."""
    draws = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    return within, within * (draws - 1) / draws + chains.mean(axis=1).var(axis=0, ddof=1)


def _ratio(chains: np.ndarray) -> np.ndarray:
    within, total = _variances(chains)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(total / within)


def _autocorrelations(chains: np.ndarray) -> np.ndarray:
    """(draws, ...) of all chains together: 1 - (W - mean autocovariance at the lag) / variance of all draws."""
    draws = chains.shape[1]
    spectrum = rfft(chains - chains.mean(axis=1, keepdims=True), next_fast_len(2 * draws), axis=1)
    # The mean over chains is taken before the transform back, which is linear.
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0)
    covariances = irfft(power, next_fast_len(2 * draws), axis=0)[:draws] / draws
    within, total = _variances(chains)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = 1 - (within - covariances) / total
    rho[0] = np.where(np.isnan(rho[0]), np.nan, 1)
    return rho
