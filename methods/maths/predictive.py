"""What a method predicts: S samples of the likelihood's parameters at n points.

The predictive is their equal mixture.
"""

from typing import NamedTuple

from torch import Tensor


class Normals(NamedTuple):
    """Regression: component s at point i is N(mean[s, i], variance[s, i]), in original target units."""

    mean: Tensor  # (S, n)
    variance: Tensor  # (S, n)


class Classes(NamedTuple):
    """Classification into C classes, two for a binary task: component s gives class c at point i the probability
    exp(log_probs[s, i, c]).

    Logarithms, because a probability below 1e-45 would be zero in single precision and its NLL infinite.
    """

    log_probs: Tensor  # (S, n, C)


Predictive = Normals | Classes
