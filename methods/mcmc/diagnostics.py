"""Convergence diagnostics of Markov chains (Vehtari et al. 2021), computed by ArviZ.

R-hat and the effective sample size apply to any scalar function of a draw, such as a weight or a prediction. Chains are
split into halves, so that a drift within a chain shows as a difference between chains. Draws are replaced by the normal
scores of their ranks, so that heavy tails do no harm.
"""

from typing import Any

import numpy as np


def r_hat(values: np.ndarray) -> np.ndarray:
    """Return the rank-normalised split R-hat of each quantity: 1 at convergence, below 1.01 for reliable chains.

    This is the larger of two R-hats: of the draws, and of their distances to the median. The second detects chains that
    differ only in spread.

    Args:
        values: (chains, draws, ...), values of each quantity, with at least 4 draws.

    Returns:
        R-hat, (...); NaN for constants and for a single chain.

    Raises:
        ValueError: if there are fewer than 4 draws.
    """
    values = _checked(values)
    if len(values) == 1:
        return np.full(values.shape[2:], np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(_arviz().rhat(values, chain_axis=0, draw_axis=1))


def effective_sample_size(values: np.ndarray) -> np.ndarray:
    """Return the bulk effective sample size: the number of independent draws that give the mean with the same error.

    Antithetic chains can be worth more than S = chains x draws; the estimate is at most S log10(S).

    Args:
        values: (chains, draws, ...), values of each quantity, with at least 4 draws.

    Returns:
        The effective sample size, (...); S for constants.

    Raises:
        ValueError: if there are fewer than 4 draws.
    """
    return np.asarray(_arviz().ess(_checked(values), chain_axis=0, draw_axis=1))


def _checked(values: np.ndarray) -> np.ndarray:
    draws = np.shape(values)[1]
    if draws < 4:
        raise ValueError(f"chains of {draws} draws are too short to diagnose; at least 4 are needed")
    return np.asarray(values, dtype=np.float64)


def _arviz() -> Any:
    """Return ArviZ's functions of arrays; the import takes a second and needs the extra `reference`."""
    from arviz_stats.base.array import array_stats

    return array_stats
