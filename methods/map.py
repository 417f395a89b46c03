"""MAP: maximum a posteriori estimation of the weights.

Minimises the negative log posterior under the prior N(0, I / alpha), up to a constant,

    -log p(D | theta) + alpha/2 |theta|^2,

with the data term estimated from a minibatch.
"""

from typing import NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    LogUniform,
    Method,
    Noise,
    Problem,
    Step,
    Task,
    clip_norm,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued

PRETRAINED_MAX_NORM = 10.0


class MAPState(NamedTuple):
    """State of MAP training.

    Attributes:
        weights: (D,), current weights.
        optim: optimiser of the weights.
    """

    weights: Tensor
    optim: Adam


@catalogued("map")
class MAP(Method):
    """Maximum a posteriori with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Args:
        max_norm: norm that gradients are clipped to; 0 for no clipping. Networks that start from pretrained weights use
            10, the setting of VIFA (its paper, section 4.3.1).
    """

    def __init__(self, max_norm: float = 0.0):
        self.max_norm = max_norm

    def suited_to(self, task: Task) -> "MAP":
        return self.changed(max_norm=PRETRAINED_MAX_NORM) if task.pretrained else self

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def init(self, problem: Problem, noise: Noise) -> MAPState:
        weights = problem.initial_weights(noise)
        return MAPState(weights, Adam.init(weights))

    def update(
        self, problem: Problem, state: MAPState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[MAPState, dict[str, Tensor]]:
        def negative_log_posterior(weights: Tensor) -> Tensor:
            data = problem.n_train * problem.nll(weights, batch)
            return data + 0.5 * problem.hparams.prior_precision * weights.square().sum()

        gradient, value = grad_and_value(negative_log_posterior)(state.weights)
        if self.max_norm:
            gradient = clip_norm(gradient, self.max_norm)
        weights, optim = state.optim.step(state.weights, gradient, problem.hparams.lr, step)
        return MAPState(weights, optim), {"objective": value}

    def finish(self, problem: Problem, state: MAPState) -> Tensor:
        return state.weights

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return posterior[None]
