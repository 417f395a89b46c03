"""What the metrics of classification are made of: the mean probabilities, and how unsure they and their samples are."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from methods.maths.predictive import Classes

ROUND_OFF = 1e-12  # a spread of the samples below this is that of floating point, not of the posterior
CHUNK = 1 << 22  # numbers (32 MiB) that one part of the points may have


class Pooled(NamedTuple):
    """A predictive of n points and C classes without its samples; p_s of sample s, p = (1/S) sum_s p_s.

    Attributes:
        probabilities: (n, C), p.
        doubt: (n,), 1 - max_c p(c).
        entropy: (n,), H[p] = -sum_c p(c) log p(c), nats.
        mutual_information: (n,), H[p] - (1/S) sum_s H[p_s], nats, of the class and the weights.
        disagreement: (n,), sum_c (1/S) sum_s (p_s(c) - p(c))^2 (VIFA paper, eq. 60).
    """

    probabilities: Tensor
    doubt: Tensor
    entropy: Tensor
    mutual_information: Tensor
    disagreement: Tensor


def pool(predictive: Classes) -> Pooled:
    """The mean over samples, in float64 and in parts that fit into memory."""
    n_samples, _, n_classes = predictive.log_probs.shape
    parts = predictive.log_probs.split(max(1, CHUNK // (n_samples * n_classes)), dim=1)
    return Pooled(*map(torch.cat, zip(*map(_pool, parts), strict=True)))


def _pool(log_probs: Tensor) -> Pooled:
    # In single precision probabilities sum to 1 +- 1e-7, which would decide the order of confident points.
    of_samples = log_softmax(log_probs.double(), dim=-1).exp()
    probabilities = of_samples.mean(0)
    entropy = _entropy(probabilities)
    return Pooled(
        probabilities,
        # Summed from the others, it keeps its digits where the largest probability rounds to 1.
        probabilities.scatter(-1, probabilities.argmax(-1, keepdim=True), 0.0).sum(-1),
        entropy,
        _without_round_off(entropy - _entropy(of_samples).mean(0)),
        _without_round_off((of_samples - probabilities).square().mean(0).sum(-1)),
    )


def _entropy(probabilities: Tensor) -> Tensor:
    """Over the last axis; a class of probability 0 adds nothing."""
    return torch.special.entr(probabilities).sum(-1)


def _without_round_off(spread: Tensor) -> Tensor:
    return torch.where(spread < ROUND_OFF, 0.0, spread)
