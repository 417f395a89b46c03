"""MAP: maximum a posteriori estimation of the weights.

Minimises the negative log posterior under the prior N(0, I / alpha), up to a constant,

    -log p(D | theta) + alpha/2 |theta|^2,

with the data term estimated from a minibatch.
"""

from typing import NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.base import Method, Paper
from lockstep_bench.methods.maths.gradients import grad_and_value
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.search_spaces import LogUniform
from lockstep_bench.methods.problem import Batch, Problem, Step, Task
from lockstep_bench.methods.training.optim import Adam, clip_norm

PRETRAINED_MAX_NORM = 10.0


class State(NamedTuple):
    """State of training.

    Attributes:
        weights: (D,)
        optim: optimiser of the weights.
    """

    weights: Tensor
    optim: Adam


class MAP(Method):
    """Maximum a posteriori with Adam. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Args:
        max_norm: norm that gradients are clipped to; 0 for no clipping. Where networks start from pretrained weights it
            is 10, so that all settings are those of VIFA, as in its paper (section 4.3.1).
    """

    name = "map"
    title = "MAP"
    paper = Paper("MacKay 1992", "A Practical Bayesian Framework for Backpropagation Networks")

    spread_caveat = "a point estimate"

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

    def init(self, problem: Problem, noise: Noise) -> State:
        weights = problem.initial_weights(noise)
        return State(weights, Adam.init(weights))

    def update(
        self, problem: Problem, state: State, batch: Batch, noise: Noise, step: Step
    ) -> tuple[State, dict[str, Tensor]]:
        def negative_log_posterior(weights: Tensor) -> Tensor:
            data = problem.n_train * problem.nll(weights, batch)
            return data + 0.5 * problem.hparams.prior_precision * weights.square().sum()

        gradient, value = grad_and_value(negative_log_posterior)(state.weights)
        if self.max_norm:
            gradient = clip_norm(gradient, self.max_norm)
        weights, optim = state.optim.step(state.weights, gradient, problem.hparams.lr, step)
        return State(weights, optim), {"objective": value}

    def finish(self, problem: Problem, state: State) -> Tensor:
        return state.weights

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return posterior[None]
