"""Mean class probabilities over posterior samples, and measures of their uncertainty."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from lockstep_bench.bench.metrics import checks
from lockstep_bench.methods.maths.predictive import Classes

# Smaller spreads of the samples are rounding errors and are set to 0. Those of 1000 equal samples reach 2e-15 nats, and
# 6e-31 for the disagreement, which is a square.
ROUND_OFF_NATS = 1e-12
ROUND_OFF_SQUARE = 1e-24
CHUNK = 1 << 22  # points are processed in parts of at most so many probabilities (32 MiB)


class Pooled(NamedTuple):
    """A classifier's predictive at n points, averaged over S samples: p = (1/S) sum_s p_s, with C classes.

    Attributes:
        probabilities: (n, C), p.
        one_minus_confidence: (n,), 1 - max_c p(c).
        entropy: (n,), H[p] = -sum_c p(c) log p(c), nats.
        mutual_information: (n,), mutual information between class and weights, H[p] - (1/S) sum_s H[p_s], nats.
        disagreement: (n,), sum_c (1/S) sum_s (p_s(c) - p(c))^2 (VIFA paper, eq. 60).
    """

    probabilities: Tensor
    one_minus_confidence: Tensor
    entropy: Tensor
    mutual_information: Tensor
    disagreement: Tensor


def pool(predictive: Classes) -> Pooled:
    """Return a predictive averaged over its samples, in float64.

    Points are processed in parts that fit into memory.
    """
    checks.predictive(predictive, Classes)
    n_samples, _, n_classes = predictive.log_probs.shape
    parts = predictive.log_probs.split(max(1, CHUNK // (n_samples * n_classes)), dim=1)
    return Pooled(*map(torch.cat, zip(*map(_pool, parts), strict=True)))


def _pool(log_probs: Tensor) -> Pooled:
    # In single precision probabilities sum to 1 +- 1e-7, and this error would order the confident points.
    of_samples = log_softmax(log_probs.double(), dim=-1).exp()
    probabilities = of_samples.mean(0)
    entropy = _entropy(probabilities)
    return Pooled(
        probabilities,
        # The sum of the other probabilities is accurate where the largest rounds to 1.
        probabilities.scatter(-1, probabilities.argmax(-1, keepdim=True), 0.0).sum(-1),
        entropy,
        _without_round_off(entropy - _entropy(of_samples).mean(0), ROUND_OFF_NATS),
        _without_round_off((of_samples - probabilities).square().mean(0).sum(-1), ROUND_OFF_SQUARE),
    )


def _entropy(probabilities: Tensor) -> Tensor:
    """Return the entropy over the last axis, nats; a class of probability 0 adds 0."""
    entropy: Tensor = torch.special.entr(probabilities).sum(-1)
    return entropy


def _without_round_off(spread: Tensor, round_off: float) -> Tensor:
    return torch.where(spread < round_off, 0.0, spread)
