"""Full-covariance VI: a Gaussian posterior with a dense covariance matrix for each layer.

q(theta) is the product over layers of N(m, L L^T) with L lower triangular. It minimises the negative ELBO

    E_q[-log p(D | theta)] + KL(q || N(0, I / alpha)),
    KL = (alpha (|m|^2 + |L|^2) - D - D log alpha) / 2 - sum log diag(L),

with one reparameterised sample per minibatch. This is FCG-W of "Sparse Uncertainty Representation in Deep Learning with
Inducing Weights" (section 4.1). A layer of d weights has d (d + 1) / 2 numbers for its covariance, so the method is for
small networks.
"""

import math
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    LogUniform,
    Method,
    Network,
    Noise,
    Problem,
    Step,
    Task,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths import triangular

INITIAL_SD = math.exp(-3)  # as mean-field VI
MAX_WEIGHTS = 1000


class FullCovarianceVIState(NamedTuple):
    """State of training by full-covariance VI.

    Attributes:
        params: (P,), the means of all weights (D,), then the lower triangle of each layer's L, row by row, with
            softplus^-1 applied to the diagonal.
        optim: optimiser of `params`.
    """

    params: Tensor
    optim: Adam


@catalogued("fcg-vi")
class FullCovarianceVI(Method):
    """Full-covariance VI. Layers are independent.

    Hyper-parameters: `lr` (of Adam), `prior_precision`, the likelihood's.

    Args:
        initial_sd: initial standard deviation of all weights.
    """

    def __init__(self, initial_sd: float = INITIAL_SD):
        self.initial_sd = initial_sd

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def excludes(self, task: Task) -> str | None:
        largest = max(sizes(self.network(task)))
        if largest > MAX_WEIGHTS:
            return f"the covariance of a layer of {largest:,} weights is too large; {MAX_WEIGHTS:,} are allowed"
        return super().excludes(task)

    def init(self, problem: Problem, noise: Noise) -> FullCovarianceVIState:
        mean = problem.initial_weights(noise)
        factors = [triangular.raw_diagonal(self.initial_sd, part) for part in torch.split(mean, sizes(problem.network))]
        params = torch.cat([mean, *factors])
        return FullCovarianceVIState(params, Adam.init(params))

    def update(
        self, problem: Problem, state: FullCovarianceVIState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[FullCovarianceVIState, dict[str, Tensor]]:
        unit = noise.normal(1, problem.dim)

        def negative_elbo(params: Tensor) -> Tensor:
            mean, factors = parts(problem.network, params)
            (weights,) = transform(mean, factors, unit)
            return problem.n_train * problem.nll(weights, batch) + kl(mean, factors, problem.hparams.prior_precision)

        gradient, value = grad_and_value(negative_elbo)(state.params)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr, step)
        return FullCovarianceVIState(params, optim), {"elbo": problem.elbo(value)}

    def finish(self, problem: Problem, state: FullCovarianceVIState) -> Tensor:
        return state.params

    def moments(self, problem: Problem, posterior: Tensor) -> tuple[Tensor, Tensor]:
        mean, factors = parts(problem.network, posterior)
        blocks: Tensor = torch.block_diag(*(factor @ factor.T for factor in factors))
        return mean, blocks

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return transform(*parts(problem.network, posterior), noise.normal(n_samples, problem.dim))


def sizes(network: Network) -> list[int]:
    """Return the number of weights of each layer."""
    return [sum(layer.sizes) for layer in network.layers]


def parts(network: Network, params: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return the mean (D,) and the factor L (d, d) of each layer, given the flat parameters (P,)."""
    layers = sizes(network)
    mean, *raw = torch.split(params, [network.dim, *map(triangular.length, layers)])
    return mean, [triangular.lower_triangle(*pair) for pair in zip(raw, layers, strict=True)]


def transform(mean: Tensor, factors: list[Tensor], unit: Tensor) -> Tensor:
    """Return weight samples m + L e of all layers, (S, D), given `unit`, standard normal e (S, D)."""
    pieces = torch.split(unit, [len(factor) for factor in factors], dim=1)
    return mean + torch.cat([piece @ factor.T for piece, factor in zip(pieces, factors, strict=True)], dim=1)


def kl(mean: Tensor, factors: list[Tensor], alpha: Tensor) -> Tensor:
    """Return the divergence of the posterior N(mean, L L^T), layer by layer, from N(0, I / alpha), (), nats."""
    squares = torch.stack([(factor**2).sum() for factor in factors]).sum()
    log_determinant = torch.stack([factor.diagonal().log().sum() for factor in factors]).sum()
    return 0.5 * (alpha * ((mean**2).sum() + squares) - len(mean) * (1 + alpha.log())) - log_determinant
