"""The SGD trajectory whose iterates SWA, SWAG and online factor analysis treat as posterior samples.

Minibatch SGD with momentum minimises

    [ 1/N sum_i -log p(y_i | x_i, theta) + alpha/(2N) |theta|^2 ] / s,

the negative log posterior under the prior N(0, I / alpha), divided by N and by the scale s of the likelihood. For a
Gaussian likelihood s = beta, and the objective is the squared error with weight decay alpha / beta of Brownlie 2022,
eq. 4.42. Its minimiser is the MAP solution, and one range of learning rates serves every noise precision.

The learning rate is constant. The first half of training is the burn-in; the iterates of the second half are used.
Gradients are clipped to norm `MAX_GRADIENT_NORM`, which does not affect trials that converge and keeps others finite.
"""

from typing import NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.maths.gradients import grad_and_value
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.search_spaces import LogUniform, for_images, widened
from lockstep_bench.methods.problem import Batch, Problem, Step, Task
from lockstep_bench.methods.training.optim import Momentum, clip_norm

MAX_GRADIENT_NORM = 10.0


class Trajectory(NamedTuple):
    """State of SGD with momentum.

    Attributes:
        weights: (D,), the current iterate.
        optim: state of the optimiser.
    """

    weights: Tensor
    optim: Momentum

    @classmethod
    def init(cls, problem: Problem, noise: Noise) -> "Trajectory":
        """Return the trajectory at its initial weights."""
        weights = problem.initial_weights(noise)
        return cls(weights, Momentum.init(weights))

    def step(
        self, problem: Problem, batch: Batch, step: Step, lr: Tensor | None = None
    ) -> tuple["Trajectory", dict[str, Tensor]]:
        """Return the trajectory after one more minibatch, and as a diagnostic the negative log posterior in nats.

        Args:
            problem: network, training set and hyper-parameters.
            batch: the minibatch.
            step: number of the update.
            lr: learning rate; by default the hyper-parameter `lr`.
        """

        def objective(weights: Tensor) -> Tensor:
            decay = 0.5 * problem.hparams.prior_precision / problem.n_train * weights.square().sum()
            return (problem.nll(weights, batch) + decay) / problem.scale

        gradient, value = grad_and_value(objective)(self.weights)
        clipped = clip_norm(gradient, MAX_GRADIENT_NORM)
        after = Trajectory(*self.optim.step(self.weights, clipped, problem.hparams.lr if lr is None else lr, step))
        return after, {"objective": problem.n_train * problem.scale * value}


def burn_in(plan: Plan, share: float = 0.5) -> int:
    """Return the number of updates of the burn-in, whose iterates are not used: a fraction `share` of all updates."""
    return int(share * plan.n_updates)


def search_space(task: Task) -> dict[str, BaseDistribution]:
    """Return the search space: ranges of `lr`, `prior_precision` and the likelihood's hyper-parameters."""
    return {
        "lr": LogUniform(1e-3, 3e-2),
        "prior_precision": LogUniform(0.01, 10),
        **task.likelihood.search_space(),
    }


def image_space(task: Task) -> dict[str, BaseDistribution]:
    """Return the search space for images.

    The range of `lr` suits SGD; it is ten times lower from pretrained weights.
    """
    lr = LogUniform(1e-3, 1e-2) if task.pretrained else LogUniform(0.01, 0.1)
    return for_images(search_space(task), pretrained=task.pretrained) | {"lr": lr}


def wide_space(task: Task) -> dict[str, BaseDistribution]:
    """Return the search space in wide ranges.

    The range of `lr` suits SGD, unlike that of `widened`, which suits Adam.
    """
    return widened(search_space(task)) | {"lr": LogUniform(1e-4, 0.5)}
