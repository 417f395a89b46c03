"""Predictive distributions at n test points: equal mixtures of S distributions, or one distribution per point.

`Normals`, `NormalMixtures`, `StudentT` and `Classes` are mixtures with equal weights, of one distribution per weight
sample. Their first axis runs over the samples; ensembles are pooled along it. `Quantiles` and `Histogram` are for
closed forms and other libraries: their first axis has length 1, and they cannot be pooled. `bench.metrics` scores all
of them, and its docstrings have the formulas.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Normals(NamedTuple):
    """Predictive distribution of a regression: component s at point i is N(mean[s, i], variance[s, i]).

    Attributes:
        mean: (S, n), original target units.
        variance: (S, n), squared original target units; includes the observation noise.
    """

    mean: Tensor
    variance: Tensor


class NormalMixtures(NamedTuple):
    """Predictive distribution of a regression: component s at point i is a weighted mixture of K normals.

    It is sum_k exp(log_weights[s, i, k]) N(means[s, i, k], variances[s, i, k]).

    Attributes:
        log_weights: (S, n, K), finite; the weights of a component sum to 1.
        means: (S, n, K), original target units.
        variances: (S, n, K), squared original target units, above 0; includes the observation noise.
    """

    log_weights: Tensor
    means: Tensor
    variances: Tensor


class Classes(NamedTuple):
    """Predictive distribution of a classification into C classes (C = 2 for a binary task).

    Component s at point i gives class c the probability exp(log_probs[s, i, c]). Logarithms are kept because a
    probability below 1e-45 would be zero in single precision, and its NLL infinite.

    Attributes:
        log_probs: (S, n, C), nats.
    """

    log_probs: Tensor


class StudentT(NamedTuple):
    """Predictive distribution of a regression: component s at point i is a Student's t distribution.

    It is the distribution of location[s, i] + scale[s, i] T, where T has Student's t distribution with df[s, i] degrees
    of freedom.

    Attributes:
        df: (S, n), degrees of freedom, above 2, so that the variance is finite.
        location: (S, n), original target units.
        scale: (S, n), scale of the observation noise, original target units, above 0.
    """

    df: Tensor
    location: Tensor
    scale: Tensor


class Quantiles(NamedTuple):
    """Predictive distribution of a regression by K >= 2 quantiles; `Quantiles.of` makes it.

    The distribution function is linear between neighbouring quantiles. The tails are exponential, and start with the
    density between the outermost two quantiles.

    Attributes:
        levels: (1, n, K), probabilities between 0 and 1, strictly increasing.
        values: (1, n, K), the quantiles, original target units, strictly increasing.
    """

    levels: Tensor
    values: Tensor

    @classmethod
    def of(cls, levels: Tensor, values: Tensor) -> "Quantiles":
        """Return the distribution of quantiles `values` (n, K), in original target units, at `levels` (K,)."""
        values = torch.as_tensor(values).double()
        return cls(torch.as_tensor(levels).to(values).expand_as(values)[None], values[None])


class Histogram(NamedTuple):
    """Predictive distribution of a regression: uniform in each of K bins; `Histogram.of` makes it.

    The density outside of all bins is 0, and the NMLL of a target there infinite.

    Attributes:
        edges: (1, n, K + 1), original target units, strictly increasing.
        probabilities: (1, n, K), probabilities of the bins, at least 0, with the sum 1.
    """

    edges: Tensor
    probabilities: Tensor

    @classmethod
    def of(cls, edges: Tensor, probabilities: Tensor) -> "Histogram":
        """Return the distribution of bins with `probabilities` (n, K); `edges` are (K + 1,) or (n, K + 1)."""
        probabilities = torch.as_tensor(probabilities).double()
        n_points, n_bins = probabilities.shape
        return cls(torch.as_tensor(edges).to(probabilities).expand(n_points, n_bins + 1)[None], probabilities[None])


Regression = Normals | NormalMixtures | StudentT | Quantiles | Histogram
Predictive = Regression | Classes
