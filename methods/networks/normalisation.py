"""Normalisation of feature maps (M, C, H, W) without running statistics, and the layers that follow it.

The normalising functions have no weights. After each of them, the layer `Scale` applies a scale and a shift per
channel. Networks of `methods.networks.resnets` use one of three kinds of normalisation:

- "batch" uses the statistics of a channel over all examples and positions (Ioffe and Szegedy 2015). In training these
  are the statistics of the minibatch. In prediction, reference examples pass through the network together with the
  test inputs and supply the statistics. Each weight vector, sampled or averaged, therefore gets its own statistics,
  and no method has to recompute running averages.
- "group" uses the statistics of groups of `GROUP` channels within an example (Wu and He 2018).
- "filter-response" divides a channel by its root mean square over the positions within an example, and replaces the
  next activation by one with a learned threshold (Singh and Krishnan 2020: FRN and TLU).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, group_norm

from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.layers import Pieces

KINDS = ("batch", "group", "filter-response")
GROUP = 16  # channels per group; Wu and He recommend this or 32 groups, and it suits networks of few channels
RESPONSE_EPSILON = 1e-6  # from Singh and Krishnan, for maps of more than one position
BATCH_EPSILON = GROUP_EPSILON = 1e-5  # the defaults of `torch.nn`


@dataclass(frozen=True)
class Scale:
    """Affine layer scale x + shift per channel of x (M, channels, H, W); initially 1 and 0.

    Attributes:
        channels: number of channels.
    """

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
    """Activation tau + activate(x - tau) with a learned tau per channel of x (M, channels, H, W), initially 0.

    For ReLU this is max(x, tau), the thresholded linear unit (TLU); softplus gives a smooth version. Outputs are not
    linear in tau.

    Attributes:
        channels: number of channels.
        activate: elementwise activation function.
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
    """Return x (M, C, H, W) standardised per channel over examples and positions.

    Args:
        x: feature maps.
        n_reference: number of first examples that the mean and variance are computed from; 0 for all.

    Returns:
        Standardised feature maps. The variance is the biased one (divisor n). `torch.nn.BatchNorm2d` differs in
        evaluation, where its running variance is the unbiased one.
    """
    if n_reference == 0:
        return batch_norm(x, None, None, training=True, eps=BATCH_EPSILON)
    variance, mean = torch.var_mean(x[:n_reference], dim=(0, 2, 3), correction=0, keepdim=True)
    return (x - mean) * (variance + BATCH_EPSILON).rsqrt()


def by_group(x: Tensor) -> Tensor:
    """Return x (M, C, H, W) standardised per example and group of channels.

    A group has gcd(C, `GROUP`) channels, which is `GROUP` where C is a multiple of it.
    """
    channels = x.shape[1]
    return group_norm(x, channels // math.gcd(channels, GROUP), eps=GROUP_EPSILON)


def by_filter_response(x: Tensor) -> Tensor:
    """Return x (M, C, H, W) divided by its root mean square per example and channel, in float32 or higher precision."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    return x * (x.square().mean((2, 3), keepdim=True) + RESPONSE_EPSILON).rsqrt()
