"""Normalisation of feature maps (M, C, H, W), stateless, and the layers that go with it.

A normalisation has no weights itself; `Scale`, a layer, follows it with a scale and a shift for each channel. Three
kinds take the place of each other in the networks of `methods.networks.resnets`:

- "batch": by the statistics of a channel over all rows and positions (Ioffe and Szegedy 2015). Rows then depend on each
  other, and there are no running averages: in training the statistics are those of the minibatch, in prediction those
  of reference rows that go through the network together with the inputs, under the same weights. So every set of
  weights, sampled or averaged, has statistics of its own, and no method has to recompute any.
- "group": by those of a row's groups of `GROUP` channels (Wu and He 2018).
- "filter-response": by the mean square of a row's channel over its positions, and a learned threshold in the place of
  the activation that follows (Singh and Krishnan 2020, FRN and TLU).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, group_norm

from methods.maths.noise import Noise
from methods.networks.layers import Pieces

KINDS = ("batch", "group", "filter-response")
GROUP = 16  # channels, the other setting that Wu and He recommend beside 32 groups, and for fewer channels the better
RESPONSE_EPSILON = 1e-6  # the authors' for maps of more than one position
BATCH_EPSILON = GROUP_EPSILON = 1e-5  # of `torch.nn`


@dataclass(frozen=True)
class Scale:
    """scale x + shift with a scale and a shift for each channel of x (M, channels, H, W); they start at 1 and 0."""

    channels: int

    @property
    def sizes(self) -> list[int]:
        return [self.channels, self.channels]

    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        scale, shift = (piece[:, None, None] for piece in pieces)
        return scale * x + shift

    def initial(self, noise: Noise) -> Tensor:
        zeros = noise.normal(0).new_zeros(self.channels)
        return torch.cat([zeros + 1, zeros])


@dataclass(frozen=True)
class Threshold:
    """tau + activate(x - tau) with a tau for each channel of x (M, channels, H, W), 0 at the start.

    For ReLU this is max(x, tau), the thresholded linear unit, and for softplus a smooth one. It is not linear in tau.
    """

    channels: int
    activate: Callable[[Tensor], Tensor]

    @property
    def sizes(self) -> list[int]:
        return [self.channels]

    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        tau = pieces[0][:, None, None]
        return tau + self.activate(x - tau)

    def initial(self, noise: Noise) -> Tensor:
        return noise.normal(0).new_zeros(self.channels)


def by_batch(x: Tensor, n_reference: int = 0) -> Tensor:
    """x with mean 0 and variance 1 in each channel, over all rows or, if positive, as the first `n_reference` have it.

    The variance is the biased one, of divisor n, in both cases; `torch.nn.BatchNorm2d` keeps the unbiased one.
    """
    if n_reference == 0:
        return batch_norm(x, None, None, training=True, eps=BATCH_EPSILON)
    variance, mean = torch.var_mean(x[:n_reference], dim=(0, 2, 3), correction=0, keepdim=True)
    return (x - mean) * (variance + BATCH_EPSILON).rsqrt()


def by_group(x: Tensor) -> Tensor:
    """x with mean 0 and variance 1 in each group of channels of each row.

    A group has `GROUP` channels, or the greatest common divisor where their number is no multiple of it.
    """
    channels = x.shape[1]
    return group_norm(x, channels // math.gcd(channels, GROUP), eps=GROUP_EPSILON)


def by_filter_response(x: Tensor) -> Tensor:
    """x with mean square 1 in each channel of each row, of 16 bits in 32, as the others take their sums."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    return x * (x.square().mean((2, 3), keepdim=True) + RESPONSE_EPSILON).rsqrt()
