"""Bases of MCMC methods, with full or minibatch gradients: lengths of their chains, and which draws are kept.

A protocol's number of epochs is meant for optimisers; each sampler defines its own full length. Protocols of
`WHOLE_EPOCHS` epochs or more run chains of the full length, shorter protocols a proportional part of it.

The step length h of a chain with minibatch gradients is the learning rate of SGD on the objective of
`methods.training.sgd`,

    u = [ 1/N sum_i -log p(y_i | x_i, theta) + alpha/(2N) |theta|^2 ] / s,

the negative log posterior U under the prior N(0, I / alpha), divided by N and by the scale s of the likelihood. The
posterior is proportional to exp(-N s u). One range of h then serves every number of rows and every noise precision.
"""

from copy import copy
from math import floor
from typing import Any, Self

from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.base import Method, Plan
from lockstep_bench.methods.maths.gradients import grad_and_value
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.search_spaces import LogUniform
from lockstep_bench.methods.mcmc.draws import thinned
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Batch, Problem, Task

WHOLE_EPOCHS = 100  # epochs of a protocol from which on chains have their full length
LEAST_UPDATES = 24
MINIBATCHES = 10_000  # at least in a chain of full length
DRAWS_OF_LARGE_NETWORKS = 12  # as many as Zhang et al. 2020 keep of a ResNet


def share_of_chain(plan: Plan) -> float:
    """Return the fraction of its full length for which a chain runs under a protocol's plan."""
    return min(1.0, plan.n_updates / plan.updates_per_epoch / WHOLE_EPOCHS)


def chain_updates(plan: Plan, passes: float, least: float = 0) -> int:
    """Return the number of updates of a chain with minibatch gradients.

    Args:
        plan: plan of the protocol.
        passes: number of passes over the training rows in a chain of full length.
        least: minimum number of updates in a chain of full length, for small training sets.
    """
    return max(LEAST_UPDATES, round(share_of_chain(plan) * max(least, passes * plan.updates_per_epoch)))


def ends_a_part(before: float, after: float, parts: int) -> bool:
    """Return whether a boundary between the `parts` equal parts of [0, 1], or 1 itself, lies in (`before`, `after`]."""
    return floor(parts * after) > floor(parts * before)


class FullBatchChains(Method):
    """Base of the samplers whose every step uses all training rows. Each member is a chain; the draws are pooled.

    Hyper-parameters: `prior_precision` (alpha), `lr` of the optimiser that runs before the chain, and the likelihood's.
    The posterior has a field `draws` (K, D); its fields of shape () are recorded as diagnostics.

    Attributes:
        whole: number of updates of a chain of full length.
    """

    full_batch = True
    chains = True
    whole: int

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 1e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def excludes(self, task: Task) -> str | None:
        if not isinstance(self.network(task), MLP):
            return "each step of a chain needs all training rows"
        return super().excludes(task)

    def updates(self, plan: Plan) -> int:
        return max(LEAST_UPDATES, round(share_of_chain(plan) * self.whole))

    def diagnostics(self, problem: Problem, posterior: Any) -> dict[str, Tensor]:
        return {name: value for name, value in posterior._asdict().items() if value.ndim == 0}

    def sample(self, problem: Problem, posterior: Any, noise: Noise, n_samples: int) -> Tensor:
        return thinned(posterior.draws, n_samples)


class MinibatchChains(Method):
    """Base of the samplers with minibatch gradients. Each member is a chain, and the draws of all chains are pooled.

    Networks other than multilayer perceptrons are sampled for as many epochs as the protocol plans, with 12 draws.

    Args:
        chains: number of chains.
        passes: number of passes of each chain over the training rows, in protocols of 100 epochs or more. If these are
            fewer than 10,000 minibatches, a chain takes 10,000. 0 for the protocol's epochs.
        draws: number of draws per chain.
    """

    constant_rate = True
    chains = True

    def __init__(self, chains: int, passes: int, draws: int):
        self.members, self.passes, self.draws = chains, passes, draws

    def proxy(self) -> Self:
        chain = copy(self)
        chain.members = 1
        return chain

    def suited_to(self, task: Task) -> Self:
        if isinstance(task.network, MLP):
            return self
        return self.changed(passes=0, draws=DRAWS_OF_LARGE_NETWORKS)

    def updates(self, plan: Plan) -> int:
        return chain_updates(plan, self.passes, MINIBATCHES) if self.passes else plan.n_updates

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return thinned(posterior, n_samples)


def gradient_and_objective(problem: Problem, weights: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return minibatch estimates of the gradient of u (D,) and of the negative log posterior U (), nats.

    The module's docstring defines u and U.
    """
    gradient, value = grad_and_value(problem.log_posterior)(weights, batch)
    return -gradient / (problem.n_train * problem.scale), -value
