"""Acquisition functions of active learning: which rows of a pool to ask for, from functions drawn from a fit.

Ties are broken at random. A fit with a single function, such as a point estimate, therefore chooses at random.
"""

from collections.abc import Callable, Mapping

import numpy as np

# (functions (S, n), variance (n,) of the noise, number of points, generator) -> chosen points
Acquisition = Callable[[np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]


def at_random(functions: np.ndarray, noise: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return `count` random points; the arguments are those of `by_bald`."""
    return generator.permutation(functions.shape[1])[:count]


def by_variance(functions: np.ndarray, noise: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return the `count` points of the largest variance over the functions; the arguments are those of `by_bald`."""
    order = generator.permutation(functions.shape[1])
    spread = np.square(_deviations(functions)).sum(axis=0)
    return order[np.argsort(-spread[order], kind="stable")[:count]]


def by_bald(functions: np.ndarray, noise: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return `count` points whose targets tell most about the function, chosen greedily, the most informative first.

    With K the covariance of the functions over their S draws, D the diagonal matrix of the noise's variances, and
    Gaussian functions, the targets of the points A and the function have the mutual information

        I(A) = 1/2 log det(I + D_A^-1/2 K_A D_A^-1/2).

    Each step adds the point that increases I most. At this point, the variance of the function given the noisy targets
    at the points chosen so far, divided by the variance of the noise, is largest. This is BALD (Houlsby et al. 2011,
    Bayesian active learning for classification and preference learning) for batches (Kirsch, van Amersfoort and Gal
    2019, BatchBALD), with the mutual information computed from the covariance of the draws.

    Args:
        functions: (S, n), values of S drawn functions at n points.
        noise: (n,), variance of the target around the function, positive.
        count: number of points, at most n.
        generator: breaks ties.
    """
    order = generator.permutation(functions.shape[1])
    deviations, noise = _deviations(functions)[:, order], noise[order]
    spread = np.square(deviations).sum(axis=0)
    factor = np.empty((0, len(order)))  # K given the chosen points' targets is K - factor^T factor
    chosen: list[int] = []
    for _ in range(count):
        gains = spread / noise
        gains[chosen] = -1.0
        best = int(gains.argmax())
        covariance = deviations[:, best] @ deviations - factor[:, best] @ factor
        row = covariance / np.sqrt(spread[best] + noise[best])
        factor, spread = np.vstack([factor, row]), np.maximum(spread - row**2, 0.0)
        chosen.append(best)
    return order[chosen]


ACQUISITIONS: Mapping[str, Acquisition] = {"variance": by_variance, "bald": by_bald, "random": at_random}


def _deviations(functions: np.ndarray) -> np.ndarray:
    """Return A (S, n) with A^T A the covariance of the functions over their draws."""
    values = functions.astype(np.float64)
    deviations: np.ndarray = (values - values.mean(axis=0)) / np.sqrt(len(values))
    return deviations
