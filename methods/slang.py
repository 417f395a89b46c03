"""SLANG: natural-gradient variational inference with a low-rank-plus-diagonal precision.

q(theta) = N(mu, Sigma), Sigma^-1 = U U^T + diag(D), maximises E_q[log p(D | theta)] - KL(q || N(0, I / alpha)) by
online Newton-like steps with the empirical Fisher matrix in place of the Hessian. Let theta_s ~ q be S weight samples,
g_is the gradient of example i's NLL at theta_s for the M examples of a minibatch, and b = 1 - lr. An update is

    g = N/(SM) sum_is g_is,      G = N/(SM) sum_is g_is g_is^T
    U U^T <- the top K eigenpairs of A = b U U^T + (1 - b) G
    D     <- b D + (1 - b) alpha + max(0, diag(A - U U^T)), with the new U
    mu    <- mu - lr Sigma (g + alpha mu), with the new Sigma and momentum in g

(Mishkin et al. 2018, Algorithm 1 and section 3). The matrix A is never formed. With A = R R^T, the top eigenvectors v
of the small Gram matrix R^T R give the columns R v of U exactly. The authors use a randomised iteration instead. For
dense layers the gradients g_is in R are not formed either (`methods.networks.example_gradients`).

As in the authors' code, D starts at 1, U at 0, and mu at the initial weights of `torch.nn`. Momentum is that of Adam
with bias correction and does not apply to the prior's term. S is 4 (2 on the authors' three largest data sets).
"""

import math
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Batch,
    LogUniform,
    LowRankPrecision,
    Method,
    Noise,
    Problem,
    Step,
    Task,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.gaussian import top_eigenpairs
from lockstep_bench.methods.networks.example_gradients import ExampleGradients, example_gradients
from lockstep_bench.methods.networks.layers import Dense
from lockstep_bench.methods.training.optim import MOMENTUM

INITIAL_DIAGONAL = 1.0
# Largest number of weights outside dense layers, whose S M gradients of examples are vectors: 1 GB for 500,000 weights,
# S = 4 and M = 128.
MAX_WEIGHTS = 500_000


class SLANGState(NamedTuple):
    """State of training by SLANG.

    Attributes:
        posterior: Gaussian with mean mu (D,) and precision U U^T + diag(D): factors U^T (K, D) and diagonal (D,).
        momentum: (D,), running mean of the gradient.
    """

    posterior: LowRankPrecision
    momentum: Tensor


@catalogued("slang")
class SLANG(Method):
    """SLANG as published. Hyper-parameters: `lr` of mean and precision, `prior_precision` (alpha), the likelihood's.

    The authors fix `lr` per UCI data set, between 0.005 and 0.08, and use a prior precision of 1e-6 for biases. By
    default `lr` is tuned in that range, and all weights have one prior precision, as the other methods have.

    The empirical Fisher matrix differs from the Hessian, so the spread is not exact. On six linear models of 60 rows,
    its standard deviations are 0.76 to 1.34 times the exact ones.

    Args:
        latent_dim: K, number of columns of U.
        mc_samples: S, number of weight samples per update, all on the same minibatch.
        bias_precision: prior precision of biases and of shifts of normalisation layers; None for `prior_precision`.
    """

    constant_rate = True  # the rate is also the weight of the newest gradients in the precision

    def __init__(self, latent_dim: int = 1, mc_samples: int = 4, bias_precision: float | None = None):
        self.latent_dim = latent_dim
        self.mc_samples = mc_samples
        self.bias_precision = bias_precision

    def excludes(self, task: Task) -> str | None:
        network = self.network(task)
        if network.couples_rows:
            return "batch normalisation couples examples, and gradients of single ones do not exist"
        held = sum(sum(layer.sizes) for layer in network.layers if not isinstance(layer, Dense))
        if held > MAX_WEIGHTS:
            return f"each example would have a gradient of {held} weights; {MAX_WEIGHTS} are allowed"
        return super().excludes(task)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(0.005, 0.08),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def init(self, problem: Problem, noise: Noise) -> SLANGState:
        mean = problem.initial_weights(noise)
        zeros = torch.zeros_like(mean)
        factors = zeros.expand(self.latent_dim, -1).clone()
        return SLANGState(LowRankPrecision(mean, factors, torch.full_like(mean, INITIAL_DIAGONAL)), zeros)

    def update(
        self, problem: Problem, state: SLANGState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[SLANGState, dict[str, Tensor]]:
        before, lr, alpha = state.posterior, problem.hparams.lr, self._prior_precisions(problem)
        weights = self._sampled(before).sample(noise, self.mc_samples)
        gradients, nlls = example_gradients(problem.network, problem.nll_of_outputs, weights, batch.x[0], batch.y[0])

        scale = lr * problem.n_train / nlls.numel()  # A = scale R^T R
        factors, lost = top_factors(((1 - lr) / scale).sqrt() * before.factors, gradients, self.latent_dim)
        factors = scale.sqrt() * factors
        diagonal = (1 - lr) * before.diagonal + lr * alpha + scale * lost

        momentum = torch.lerp(state.momentum, problem.n_train * gradients.mean(), 1 - MOMENTUM)
        gradient = momentum / -torch.expm1(step.count * math.log(MOMENTUM)) + alpha * before.mean
        after = LowRankPrecision(before.mean, factors, diagonal)
        state = SLANGState(after._replace(mean=before.mean - lr * after.solve(gradient)), momentum)
        return state, {"elbo": problem.elbo(problem.n_train * nlls.mean() + self._sampled(before).kl(alpha))}

    def finish(self, problem: Problem, state: SLANGState) -> LowRankPrecision:
        return self._sampled(state.posterior)

    def sample(self, problem: Problem, posterior: LowRankPrecision, noise: Noise, n_samples: int) -> Tensor:
        return posterior.sample(noise, n_samples)

    def _prior_precisions(self, problem: Problem) -> Tensor:
        """Return the prior precision of each weight (D,), or of all weights ()."""
        alpha = problem.hparams.prior_precision
        if self.bias_precision is None:
            return alpha
        of_bias = torch.full_like(alpha, self.bias_precision)
        return torch.cat(
            [
                (of_bias if number else alpha).expand(size)
                for layer in problem.network.layers
                for number, size in enumerate(layer.sizes)
            ]
        )

    def _sampled(self, posterior: LowRankPrecision) -> LowRankPrecision:
        """Return the distribution from which weights are drawn."""
        return posterior


@catalogued("slang-released")
class ReleasedSLANG(SLANG):
    """SLANG as in the authors' released code, which produced the published UCI results.

    The sampler in that code adds the mean twice, so gradients and predictions use weights 2 mu + Sigma^(1/2) eps. The
    effective prior precision of the mean 2 mu is then alpha / 2.
    """

    def _sampled(self, posterior: LowRankPrecision) -> LowRankPrecision:
        return posterior._replace(mean=2 * posterior.mean)


def top_factors(kept: Tensor, gradients: ExampleGradients, k: int) -> tuple[Tensor, Tensor]:
    """Return the best rank-k approximation U U^T of A = R R^T, and the diagonal of the remainder.

    The columns of R are the K factors `kept` and the n gradients.

    Args:
        kept: (K, D).
        gradients: n gradients of D weights.
        k: rank of the approximation, at most K + n.

    Returns:
        U^T, (k, D), and diag(A - U U^T), (D,), non-negative.
    """
    products = gradients.products(kept)
    matrix = torch.cat([torch.cat([kept @ kept.T, products], dim=1), torch.cat([products.T, gradients.gram()], dim=1)])
    of_kept, of_gradients = top_eigenpairs(matrix, k)[1].T.split([len(kept), products.shape[1]], dim=1)
    factors = of_kept @ kept + gradients.combined(of_gradients)
    squares = kept.square().sum(0) + gradients.squares()
    return factors, (squares - factors.square().sum(0)).clamp(min=0)
