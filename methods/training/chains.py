"""Chains of samplers: how long they are, which of their draws are kept, and chains that minibatches move.

A protocol's budget is that of an optimiser, and a chain has a length of its own. Protocols of `WHOLE_EPOCHS` epochs or
more give it its full length, shorter ones a share in proportion.

A step length h of a chain that minibatches move is that of SGD on the objective of `methods.training.sgd`,

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
    """Return the share of its full length that a chain has by a protocol's plan."""
    return min(1.0, plan.n_updates / plan.updates_per_epoch / WHOLE_EPOCHS)


def chain_updates(plan: Plan, passes: float, least: float = 0) -> int:
    """Return the number of updates of a chain that minibatches move.

    Args:
        plan: plan of the protocol.
        passes: number of passes over the training rows, of a chain of full length.
        least: number of updates that a chain of full length has at least, however few the training rows.
    """
    return max(LEAST_UPDATES, round(share_of_chain(plan) * max(least, passes * plan.updates_per_epoch)))


def ends_a_part(before: float, after: float, parts: int) -> bool:
    """Return whether one of the `parts` equal parts of [0, 1] ends in (`before`, `after`]."""
    return floor(parts * after) > floor(parts * before)


class FullBatchChains(Method):
    """Base of the samplers whose every step needs all training rows. Each member is a chain, and draws are pooled.

    Hyper-parameters: `prior_precision` (alpha), `lr` of the optimiser before the chain and the likelihood's. The
    posterior has `draws` (K, D); its numbers () are diagnostics.

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
    """Base of the samplers that minibatches move. Each member is a chain, and the draws of all chains are pooled.

    Networks that are no multilayer perceptrons are sampled for as many epochs as the protocol plans, and keep 12 draws.

    Args:
        chains: number of members.
        passes: number of passes of each chain over the training rows, in protocols of 100 epochs or more, where these
            are 10,000 minibatches or more; 0 for the protocol's epochs.
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
    """Return the gradient (D,) of u, estimated by a minibatch, and the estimate of U in nats, ()."""
    gradient, value = grad_and_value(problem.log_posterior)(weights, batch)
    return -gradient / (problem.n_train * problem.scale), -value
