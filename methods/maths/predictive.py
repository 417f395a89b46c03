"""Predictive distributions: equal mixtures of S components at each of n test points, one per weight sample."""

from typing import NamedTuple

from torch import Tensor


class Normals(NamedTuple):
    """Predictive distribution of a regression: component s at point i is N(mean[s, i], variance[s, i]).

    Attributes:
        mean: (S, n), original target units.
        variance: (S, n), squared original target units; includes the observation noise.
    """

    mean: Tensor
    variance: Tensor


class Classes(NamedTuple):
    """Predictive distribution of a classification into C classes (C = 2 for a binary task).

    Component s at point i gives class c the probability exp(log_probs[s, i, c]). Logarithms are kept because a
    probability below 1e-45 would be zero in single precision, and its NLL infinite.

    Attributes:
        log_probs: (S, n, C), nats.
    """

    log_probs: Tensor


Predictive = Normals | Classes
