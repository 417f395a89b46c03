"""Storage of the draws that a Markov chain keeps, their thinning, and their autocorrelation time."""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Kept(NamedTuple):
    """The newest K draws of a chain, oldest first; while there are fewer, copies of the first draw fill the front.

    Attributes:
        draws: (K, D), the draws.
        so_far: (), the number of draws added so far.
    """

    draws: Tensor
    so_far: Tensor

    @classmethod
    def init(cls, weights: Tensor, count: int) -> "Kept":
        """Return the storage for `count` draws, with no draw stored yet.

        `weights` (D,) give shape and type; the first draw overwrites their values.
        """
        return cls(started_draws(weights, count), torch.zeros_like(weights[0]))

    def add(self, weights: Tensor) -> "Kept":
        """Return the storage with one more draw (D,)."""
        draws = torch.where(self.so_far == 0, weights[None], with_draw(self.draws, weights))
        return Kept(draws, self.so_far + 1)


def started_draws(weights: Tensor, count: int) -> Tensor:
    """Return storage for `count` draws of a chain, filled with copies of its starting point.

    Args:
        weights: (...), the starting point.
        count: number of draws to be stored.

    Returns:
        (`count`, ...).
    """
    return weights.expand(count, *weights.shape).clone()


def with_draw(draws: Tensor, weights: Tensor) -> Tensor:
    """Return the draws (K, ...) without the oldest, and with the new draw `weights` (...) at the end."""
    return torch.cat([draws[1:], weights[None]])


def thinned(draws: Tensor, count: int) -> Tensor:
    """Return at most `count` of the K draws (K, ...), evenly spaced."""
    if count >= len(draws):
        return draws
    return draws[[number * len(draws) // count for number in range(count)]]


def autocorrelation_times(draws: Tensor) -> Tensor:
    """Return the integrated autocorrelation time of each weight, in draws, (D,), from a chain of draws (K, D).

    This many draws are worth one independent draw. The time is the sum of the autocorrelations by Geyer's initial
    monotone sequence (Geyer 1992, section 3.3): pairs of adjacent lags, as long as they are positive, none larger than
    the one before. It is at least 1 / log10(K) (Vehtari et al. 2021, section 3.2).
    """
    count = len(draws)
    centred = draws - draws.mean(0)
    variance = centred.square().mean(0)
    total, last = torch.zeros_like(variance), torch.full_like(variance, math.inf)
    positive, left_over = torch.ones_like(variance), torch.zeros_like(variance)
    for lag in range(0, count - count % 2, 2):
        even, odd = (_autocorrelation(centred, variance, each) for each in (lag, lag + 1))
        left_over = torch.where(positive * (even + odd <= 0) > 0, even.clamp(min=0), left_over)
        positive = positive * (even + odd > 0)
        last = torch.minimum(last, even + odd)
        total = total + positive * last
    return (2 * total - 1 + left_over).clamp(min=1 / math.log10(count))


def _autocorrelation(centred: Tensor, variance: Tensor, lag: int) -> Tensor:
    """Return the autocorrelation at a lag, (D,). The mean is estimated from the draws: the variance has K - 1 terms."""
    count = len(centred)
    if lag == 0:
        return torch.ones_like(variance)
    products = (centred[lag:] * centred[:-lag]).sum(0) / count
    unbiased = variance * count / (count - 1)
    return 1 - (unbiased - products) / variance.clamp(min=1e-30)
