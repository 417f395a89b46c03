"""Priors whose own parameters are inferred along with z, for an approximate posterior q(z) = N(mu, diag(sigma^2)).

In p(z | phi) p(phi) the best q(phi) for a given q(z) has a closed form. Put back into the bound it leaves a penalty of
mu and sigma alone, the collapsed divergence (Tomczak et al. 2021; Wei and Khardon, eq. 11)

    min over q(phi) of  E_q(phi)[KL(q(z) || p(z | phi))] + KL(q(phi) || p(phi)).

z is a vector of weights (`methods.mfvi`), or the outputs of a network at one x (`methods.directuq`). In the second case
phi may also be shared by the data: the penalty is then the average over the data, and q(phi) follows from averages of
mu, mu^2 and sigma^2 (Wei and Khardon, appendix C). Penalties include the constants that the paper drops, so they are
divergences in nats.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

# Coefficients of the penalty among which Wei and Khardon choose by validation (section 6.1).
PENALTY_WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0, 7.5, 10.0)

Share = Callable[[Tensor], Tensor]


def own(statistic: Tensor) -> Tensor:
    """phi is inferred from each z alone."""
    return statistic


def averaged(statistic: Tensor) -> Tensor:
    """phi is shared: statistics (M, K) are averaged over the M examples, the minibatch standing for all data."""
    return statistic.mean(0, keepdim=True)


class Prior(Protocol):
    """A prior with its own parameters collapsed."""

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = own) -> Tensor:
        """The collapsed divergence (...), nats, of q's mean and sd (..., K)."""


@dataclass(frozen=True)
class Fixed:
    """p(z) = N(0, variance I): nothing to infer, the penalty is KL(q || p)."""

    variance: float = 0.1

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = own) -> Tensor:
        ratio = (mean**2 + sd**2) / self.variance
        return (0.5 * (ratio - 1 + math.log(self.variance)) - sd.log()).sum(-1)


@dataclass(frozen=True)
class LearnedMean:
    """p(z | m) = N(m, gamma I), p(m) = N(0, alpha I), with q(m) = N(alpha / (alpha + gamma) mu, ...).

    The penalty is eq. 12 of Wei and Khardon, and eq. 23 where m is shared.

    Attributes:
        gamma: prior variance of z round its mean.
        shrinkage: gamma / (alpha + gamma), called alpha_reg: how much of mu^2 / gamma is left.
    """

    gamma: float = 0.3
    shrinkage: float = 0.05

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = own) -> Tensor:
        explained = (1 - self.shrinkage) * share(mean) ** 2
        log_scale = math.log(self.gamma / self.shrinkage)
        return (0.5 * ((mean**2 + sd**2 - explained) / self.gamma - 1 + log_scale) - sd.log()).sum(-1)


@dataclass(frozen=True)
class LearnedMeanAndVariance:
    """p(z | m, v) = N(m, v), p(m | v) = N(0, v / t), p(v) = InverseGamma(alpha, beta), for each entry of z its own.

    q(m | v) = N(mu / (t + 1), v / (t + 1)) and q(v) = InverseGamma(alpha + 1/2, B) with
    B = beta + delta mu^2 / 2 + sigma^2 / 2. The penalty is eq. 13-14 of Wei and Khardon. Where v is shared, m is not,
    and B has averages of mu^2 and sigma^2 (eq. 29-30).

    Attributes:
        alpha: shape of p(v).
        beta: scale of p(v).
        delta: t / (1 + t).
    """

    alpha: float = 0.5
    beta: float = 0.01
    delta: float = 0.1

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = own) -> Tensor:
        scale = self.beta + 0.5 * share(self.delta * mean**2 + sd**2)
        normaliser = math.lgamma(self.alpha) - math.lgamma(self.alpha + 0.5) - self.alpha * math.log(self.beta)
        constant = normaliser - 0.5 * math.log(self.delta) - 0.5
        return ((self.alpha + 0.5) * scale.log() - sd.log() + constant).sum(-1)


@dataclass(frozen=True)
class EmpiricalBayes:
    """p(z | s) = N(0, s I) with one s for all K entries of z, p(s) = InverseGamma(alpha, beta).

    q(s) is a point, the s that minimises KL(q(z) || p(z | s)) - log p(s): s = (sum mu^2 + sum sigma^2 + 2 beta) /
    (K + 2 alpha + 2). The penalty is KL(q(z) || p(z | s)) there, without -log p(s), with which the papers' results were
    worse (Wu et al. 2019; Wei and Khardon, eq. 16 and appendix B.3); so it is no bound.

    Attributes:
        alpha: shape of p(s).
        beta: scale of p(s).
    """

    alpha: float = 4.4798
    beta: float = 10.0

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = own) -> Tensor:
        n_entries = mean.shape[-1]
        square = (mean**2 + sd**2).sum(-1, keepdim=True)
        variance = (share(square) + 2 * self.beta) / (n_entries + 2 * self.alpha + 2)
        divergence = 0.5 * (n_entries * variance.log() - n_entries + square / variance)
        return divergence.squeeze(-1) - sd.log().sum(-1)
