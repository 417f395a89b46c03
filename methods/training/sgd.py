"""The SGD trajectory whose iterates SWA, SWAG and online factor analysis take for posterior samples.

Minibatch SGD with momentum minimises

    [ 1/N sum_i -log p(y_i | x_i, theta) + alpha/(2N) |theta|^2 ] / s,

the negative log posterior under the prior N(0, I / alpha), divided by N and by the likelihood's own scale s. For a
Gaussian likelihood s = beta, and this is the squared error with weight decay alpha / beta of Brownlie 2022, eq. 4.42:
its minimiser is the MAP solution, and one range of learning rates serves every noise precision.

The learning rate is constant. The first half of training approaches a solution and the iterates of the second half
are used. Gradients are clipped to norm `MAX_GRADIENT_NORM`, which leaves those of a trial that converges alone and
keeps others finite.
"""

from typing import NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor

from methods.base import Plan
from methods.maths.gradients import grad
from methods.maths.search_spaces import LogUniform, for_images, widened
from methods.problem import Batch, Problem, Step, Task
from methods.training.optim import Momentum, clip_norm

MAX_GRADIENT_NORM = 10.0


class Trajectory(NamedTuple):
    """Attributes:
    weights: (D,), the newest iterate.
    optim: of the weights.
    """

    weights: Tensor
    optim: Momentum

    @classmethod
    def init(cls, problem: Problem, noise) -> "Trajectory":
        weights = problem.initial_weights(noise)
        return cls(weights, Momentum.init(weights))

    def step(self, problem: Problem, batch: Batch, step: Step) -> "Trajectory":
        """The trajectory after one more minibatch."""

        def objective(weights: Tensor) -> Tensor:
            decay = 0.5 * problem.hparams.prior_precision / problem.n_train * weights.square().sum()
            return (problem.nll(weights, batch) + decay) / problem.scale

        gradient = clip_norm(grad(objective)(self.weights), MAX_GRADIENT_NORM)
        return Trajectory(*self.optim.step(self.weights, gradient, problem.hparams.lr, step))


def burn_in(plan: Plan) -> int:
    """Updates before the first whose iterate is used."""
    return plan.n_updates // 2


def search_space(task: Task) -> dict[str, BaseDistribution]:
    """`lr`, `prior_precision` and the likelihood's own."""
    return {
        "lr": LogUniform(1e-3, 3e-2),
        "prior_precision": LogUniform(0.01, 10),
        **task.likelihood.search_space(),
    }


def image_space(task: Task) -> dict[str, BaseDistribution]:
    """The same for images; the usual range of `lr` is Adam's. Trained weights are moved ten times more slowly."""
    lr = LogUniform(1e-3, 1e-2) if task.pretrained else LogUniform(0.01, 0.1)
    return for_images(search_space(task), pretrained=task.pretrained) | {"lr": lr}


def wide_space(task: Task) -> dict[str, BaseDistribution]:
    """The same in wider ranges; the usual wide range of `lr` is Adam's."""
    return widened(search_space(task)) | {"lr": LogUniform(1e-4, 0.5)}
