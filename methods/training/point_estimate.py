"""Point estimates of the weights under a method's own loss, by Adam on N times the mean loss plus alpha/2 |theta|^2."""

from abc import abstractmethod
from dataclasses import replace
from typing import NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.gradients import grad_and_value
from lockstep_bench.methods.maths.likelihoods import HeteroscedasticGaussian, Likelihood
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.search_spaces import LogUniform
from lockstep_bench.methods.networks.mlp import Network
from lockstep_bench.methods.problem import Batch, Problem, Step, Task
from lockstep_bench.methods.training.optim import Adam


class PointState(NamedTuple):
    """State of training of a point estimate.

    Attributes:
        weights: (D,), current weights.
        optim: optimiser of the weights.
    """

    weights: Tensor
    optim: Adam


class RegressionByLoss(Method):
    """Base of regressions with their own loss and number of network outputs, and no posterior of the weights.

    Hyper-parameters: `lr` and `prior_precision` (alpha), the factor of the squared weights. There is no noise
    precision.

    Attributes:
        n_outputs: number of outputs of the network.
    """

    likelihoods = ("gaussian", "heteroscedastic")
    weight_posterior = False
    one_pass = True
    n_outputs = 2

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {"lr": LogUniform(1e-3, 3e-2), "prior_precision": LogUniform(0.01, 10)}

    def likelihood(self, task: Task) -> Likelihood:
        return HeteroscedasticGaussian() if task.likelihood.standardises else task.likelihood

    def network(self, task: Task) -> Network:
        return replace(task.network, n_outputs=self.n_outputs)

    def init(self, problem: Problem, noise: Noise) -> PointState:
        weights = problem.initial_weights(noise)
        return PointState(weights, Adam.init(weights))

    def update(
        self, problem: Problem, state: PointState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[PointState, dict[str, Tensor]]:
        x, y = batch.x.flatten(0, 1), batch.y.flatten()

        def objective(weights: Tensor) -> Tensor:
            data = problem.n_train * self.losses(problem, weights, x, y, noise).mean()
            return data + 0.5 * problem.hparams.prior_precision * weights.square().sum()

        gradient, value = grad_and_value(objective)(state.weights)
        weights, optim = state.optim.step(state.weights, gradient, problem.hparams.lr, step)
        return PointState(weights, optim), {"objective": value}

    @abstractmethod
    def losses(self, problem: Problem, weights: Tensor, x: Tensor, y: Tensor, noise: Noise) -> Tensor:
        """Return the loss of each example, (M,), at x (M, P) and y (M,), both standardised."""

    def finish(self, problem: Problem, state: PointState) -> Tensor:
        return state.weights
