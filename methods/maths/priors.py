"""Hierarchical priors p(z | phi) p(phi) with phi collapsed, for a factorised q(z) = N(mu, diag(sigma^2)).

For a given q(z) the optimal q(phi) has a closed form. Substituting it into the variational bound leaves a penalty that
depends on mu and sigma only, the collapsed divergence (Tomczak et al. 2021; Wei and Khardon, eq. 11):

    min over q(phi) of  E_q(phi)[KL(q(z) || p(z | phi))] + KL(q(phi) || p(phi)).

z is either the vector of all weights (`methods.mfvi`), or the vector of network outputs at one x (`methods.directuq`).
For network outputs, phi can be shared by all x. The penalty is then an average over the data, and q(phi) depends on
averages of mu, mu^2 and sigma^2 (Wei and Khardon, appendix C).

Penalties include the constants that the papers drop, so they are divergences in nats.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

# Factors of the penalty among which Wei and Khardon choose by validation (section 6.1).
PENALTY_WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0, 7.5, 10.0)

Share = Callable[[Tensor], Tensor]


def unshared(statistic: Tensor) -> Tensor:
    """Return the statistic unchanged: the prior's parameters phi are inferred for each z separately."""
    return statistic


def averaged(statistic: Tensor) -> Tensor:
    """Return the statistic (M, K) averaged over M examples, (1, K): the prior's parameters phi are shared by all data.

    The average over the minibatch estimates the average over all data.
    """
    return statistic.mean(0, keepdim=True)


class Prior(Protocol):
    """Interface of a prior whose parameters phi are collapsed."""

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = unshared) -> Tensor:
        """Return the collapsed divergence of q(z) = N(mean, diag(sd^2)), (...), nats.

        Args:
            mean: (..., K), mu.
            sd: (..., K), sigma.
            share: `unshared` to infer phi for each z, `averaged` to use one phi for all examples along the first axis.
        """


@dataclass(frozen=True)
class Fixed:
    """p(z) = N(0, variance I), without parameters to infer: the penalty is KL(q || p)."""

    variance: float = 0.1

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = unshared) -> Tensor:
        ratio = (mean**2 + sd**2) / self.variance
        return (0.5 * (ratio - 1 + math.log(self.variance)) - sd.log()).sum(-1)


@dataclass(frozen=True)
class LearnedMean:
    """p(z | m) = N(m, gamma I) with p(m) = N(0, alpha I).

    The optimal q(m) has mean alpha / (alpha + gamma) mu. The penalty is eq. 12 of Wei and Khardon, or eq. 23 for a
    shared m.

    Attributes:
        gamma: prior variance of z about its mean m.
        shrinkage: gamma / (alpha + gamma), the fraction of mu^2 / gamma that stays in the penalty (the paper's
            alpha_reg).
    """

    gamma: float = 0.3
    shrinkage: float = 0.05

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = unshared) -> Tensor:
        explained = (1 - self.shrinkage) * share(mean) ** 2
        log_scale = math.log(self.gamma / self.shrinkage)
        return (0.5 * ((mean**2 + sd**2 - explained) / self.gamma - 1 + log_scale) - sd.log()).sum(-1)


@dataclass(frozen=True)
class LearnedMeanAndVariance:
    """p(z | m, v) = N(m, v), p(m | v) = N(0, v / t), p(v) = InverseGamma(alpha, beta), separately for each entry of z.

    The optimal q is q(m | v) = N(mu / (t + 1), v / (t + 1)) and q(v) = InverseGamma(alpha + 1/2, B), with
    B = beta + delta mu^2 / 2 + sigma^2 / 2. The penalty is eq. 13-14 of Wei and Khardon,
    where q(z) = N(mu, sigma^2). If all examples have one prior, they share v and not m, and B contains averages of mu^2
    and sigma^2 (eq. 29-30).

    Attributes:
        alpha: shape of p(v).
        beta: scale of p(v).
        delta: t / (1 + t).
    """

    alpha: float = 0.5
    beta: float = 0.01
    delta: float = 0.1

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = unshared) -> Tensor:
        scale = self.beta + 0.5 * share(self.delta * mean**2 + sd**2)
        normaliser = math.lgamma(self.alpha) - math.lgamma(self.alpha + 0.5) - self.alpha * math.log(self.beta)
        constant = normaliser - 0.5 * math.log(self.delta) - 0.5
        return ((self.alpha + 0.5) * scale.log() - sd.log() + constant).sum(-1)


@dataclass(frozen=True)
class EmpiricalBayes:
    """p(z | s) = N(0, s I) with p(s) = InverseGamma(alpha, beta), and one s for all K entries of z.

    q(s) is the point estimate that minimises KL(q(z) || p(z | s)) - log p(s),

        s = (sum mu^2 + sum sigma^2 + 2 beta) / (K + 2 alpha + 2).

    The penalty is KL(q(z) || p(z | s)) at this s (Wu et al. 2019; Wei and Khardon, eq. 16). The penalty omits the term
    -log p(s) because results were worse with it (Wei and Khardon, appendix B.3), so the objective is not a bound.

    Attributes:
        alpha: shape of p(s).
        beta: scale of p(s).
    """

    alpha: float = 4.4798
    beta: float = 10.0

    def penalty(self, mean: Tensor, sd: Tensor, share: Share = unshared) -> Tensor:
        n_entries = mean.shape[-1]
        square = (mean**2 + sd**2).sum(-1, keepdim=True)
        variance = (share(square) + 2 * self.beta) / (n_entries + 2 * self.alpha + 2)
        divergence = 0.5 * (n_entries * variance.log() - n_entries + square / variance)
        return divergence.squeeze(-1) - sd.log().sum(-1)


PRIORS: Mapping[str, Prior] = {
    "fixed": Fixed(),
    "learned-mean": LearnedMean(),
    "learned-mean-and-variance": LearnedMeanAndVariance(),
    "empirical-bayes": EmpiricalBayes(),
}
