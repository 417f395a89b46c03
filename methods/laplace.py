"""Laplace approximations: a Gaussian round the MAP weights with the curvature that the training rows give it.

After MAP training, one exact pass over the N training rows accumulates the generalised Gauss-Newton matrix, and

    q(theta) = N(theta_MAP, (GGN + alpha I)^-1),      GGN = sum_n J_n^T Lambda_n J_n,

J_n (O, T) the Jacobian of the outputs at x_n in the weights that are uncertain, Lambda_n (O, O) the Fisher information
of the likelihood in its outputs, which is its Hessian where that does not depend on y. Uncertain are the last layer's
weights (the default of Daxberger et al. 2021) or all of them. alpha is that of training: one prior, one posterior.

Predictions are those of the linearised model, f(x; theta_MAP) + J(x) (theta - theta_MAP), because that is the model of
which q is the posterior: weights drawn from a GGN posterior and put into the network itself underfit badly (Immer et
al. 2021, section 3 and figure 1). In the last layer's weights the network is linear, and the two are the same.
"""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.func import jacrev, jvp, vmap

from methods.base import Paper
from methods.map import MAP
from methods.map import State as Trained
from methods.maths.predictive import Predictive
from methods.networks.mlp import Network, features
from methods.problem import Problem, Sweep, Task

MAX_UNCERTAIN = 1000  # weights T: a stack of 150 takes 3 GB at T = 701 (measured), by T^2 6 GB at 1000
JACOBIAN_NUMBERS = 1 << 18  # of one model's Jacobian at once
# The same for networks of images, which are fitted one at a time: 800 MB, and 128 MB in double precision.
MAX_LAST_LAYER_OF_IMAGES = 10_000
JACOBIAN_NUMBERS_OF_IMAGES = 1 << 24


class State(NamedTuple):
    """Attributes:
    trained: MAP's own.
    precision: (T, T), alpha I and the GGN of the rows swept so far; empty (0, 0) in training, because it may take more
        memory than the weights. float64, because alpha must not drown in the rounding of the largest eigenvalues.
    """

    trained: Trained
    precision: Tensor


class Posterior(NamedTuple):
    """Attributes:
    mean: (D,), the MAP weights.
    root: (T, T), the lower Cholesky factor of the precision of the last T weights; not a number where there is none.
    """

    mean: Tensor
    root: Tensor


class Laplace(MAP):
    """What the two have in common. Hyper-parameters: MAP's `lr`, `prior_precision` (alpha) and the likelihood's."""

    sweeps = True
    gaussian = True
    most_of_images = MAX_UNCERTAIN

    @abstractmethod
    def uncertain(self, network: Network) -> int:
        """T, how many weights at the end of the flat vector are uncertain."""

    def excludes(self, task: Task) -> str | None:
        network = self.network(task)
        count = self.uncertain(network)
        most = MAX_UNCERTAIN if network.image is None else self.most_of_images
        if count > most:
            return f"a covariance of {count} weights, where {most} are the most"
        return super().excludes(task)

    def init(self, problem: Problem, noise) -> State:
        trained = super().init(problem, noise)
        return State(trained, trained.weights.new_zeros(0, 0, dtype=torch.float64))

    def update(self, problem: Problem, state: State, batch, noise, step) -> tuple[State, dict[str, Tensor]]:
        trained, diagnostics = super().update(problem, state.trained, batch, noise, step)
        return state._replace(trained=trained), diagnostics

    @abstractmethod
    def inputs(self, network: Network, weights: Tensor, x: Tensor) -> Tensor:
        """(M, H), what the uncertain weights work on, at x (M, P)."""

    @abstractmethod
    def outputs(self, network: Network, weights: Tensor, inputs: Tensor) -> Tensor:
        """(M, O), of the network, from those inputs."""

    @abstractmethod
    def curvature(self, network: Network, weights: Tensor, inputs: Tensor, fisher: Tensor) -> Tensor:
        """sum_n J_n^T Lambda_n J_n, (T, T), float64, over inputs (M, H), given Lambda (M, O, O)."""

    def sweep(self, problem: Problem, state: State, rows: Sweep) -> State:
        network, weights, precision = problem.network, state.trained.weights, state.precision
        if not len(precision):
            identity = torch.eye(self.uncertain(network), dtype=torch.float64, device=weights.device)
            precision = problem.hparams.prior_precision * identity
        # All rows go through the network together, because under batch normalisation reference rows may be among them.
        inputs = self.inputs(network, weights, rows.x)
        at_most = JACOBIAN_NUMBERS if network.image is None else JACOBIAN_NUMBERS_OF_IMAGES
        at_once = max(1, at_most // (len(precision) * network.n_outputs))
        for part, present in zip(inputs.split(at_once), rows.present.split(at_once), strict=True):
            outputs = self.outputs(network, weights, part)
            fisher = problem.fisher(outputs) * present[:, None, None]
            precision = precision + self.curvature(network, weights, part, fisher)
        return state._replace(precision=precision)

    def finish(self, problem: Problem, state: State) -> Posterior:
        root, failed = torch.linalg.cholesky_ex(state.precision)
        weights = state.trained.weights
        return Posterior(weights, root.to(weights).where(failed == 0, torch.nan))

    def moments(self, problem: Problem, posterior: Posterior) -> tuple[Tensor, Tensor]:
        certain = problem.dim - len(posterior.root)
        uncertain = torch.cholesky_inverse(posterior.root)
        return posterior.mean, torch.nn.functional.pad(uncertain, (certain, 0, certain, 0))

    def predict(self, problem: Problem, posterior: Posterior, x: Tensor, noise, n_samples: int) -> Predictive:
        unit = noise.normal(len(posterior.root), n_samples)
        deviations = torch.linalg.solve_triangular(posterior.root.T, unit, upper=True).T
        outputs = self.linearised(problem.network, posterior.mean, deviations, x)
        return problem.predictive_of_outputs(outputs)

    @abstractmethod
    def linearised(self, network: Network, mean: Tensor, deviations: Tensor, x: Tensor) -> Tensor:
        """f + J_n delta_s (S, M, O), f and J_n at `mean` (D,), for deviations (S, T) of the last T weights."""


class LastLayerLaplace(Laplace):
    """Laplace in the last layer's weights, all others fixed at their MAP values."""

    name = "laplace"
    title = "Laplace, last layer"
    most_of_images = MAX_LAST_LAYER_OF_IMAGES
    paper = Paper("Daxberger et al. 2021", "Laplace Redux - Effortless Bayesian Deep Learning")

    one_pass = True

    def uncertain(self, network: Network) -> int:
        return sum(network.layers[-1].sizes)

    def inputs(self, network: Network, weights: Tensor, x: Tensor) -> Tensor:
        return features(network, weights, x)

    def outputs(self, network: Network, weights: Tensor, inputs: Tensor) -> Tensor:
        return network.layers[-1](network.split(weights)[-1], inputs)

    def curvature(self, network: Network, weights: Tensor, inputs: Tensor, fisher: Tensor) -> Tensor:
        # J_n is the Kronecker product of the layer's inputs h, a one for its bias, and the identity of the outputs:
        # summing h h^T once for each pair of outputs takes O times fewer operations than the product with J_n.
        inputs = inputs.double()
        if network.layers[-1].bias:
            inputs = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1)
        weighted = fisher.double()[..., None] * inputs[:, None, None, :]  # (M, O, O, H)
        pairs = (inputs.T @ weighted.flatten(1)).unflatten(1, weighted.shape[1:])  # (H, O, O, H)
        return pairs.transpose(2, 3).flatten(0, 1).flatten(1, 2)

    def linearised(self, network: Network, mean: Tensor, deviations: Tensor, x: Tensor) -> Tensor:
        # The network is linear in these weights: it is the last layer with other weights, on the same inputs.
        inputs, last = features(network, mean, x), network.layers[-1]

        def shifted(deviation: Tensor) -> Tensor:
            return last((mean[-len(deviation) :] + deviation).split(last.sizes), inputs)

        return vmap(shifted)(deviations)


class FullLaplace(Laplace):
    """Laplace in all weights, for networks of up to `MAX_UNCERTAIN` of them."""

    name = "laplace-full"
    title = "Laplace, all weights"
    paper = Paper("Immer et al. 2021", "Improving predictions of Bayesian neural nets via local linearization")
    limits = f"networks of up to {MAX_UNCERTAIN:,} weights, without batch normalisation"

    def uncertain(self, network: Network) -> int:
        return network.dim

    def excludes(self, task: Task) -> str | None:
        if self.network(task).couples_rows:
            return "Jacobians at single examples, which batch normalisation leaves none of"
        return super().excludes(task)

    def inputs(self, network: Network, weights: Tensor, x: Tensor) -> Tensor:
        return x

    def outputs(self, network: Network, weights: Tensor, inputs: Tensor) -> Tensor:
        return network(weights, inputs)

    def curvature(self, network: Network, weights: Tensor, inputs: Tensor, fisher: Tensor) -> Tensor:
        jacobian = vmap(jacrev(lambda weights, x: network(weights, x[None])[0]), in_dims=(None, 0))
        j = jacobian(weights, inputs).double()
        return j.flatten(0, 1).T @ (fisher.double() @ j).flatten(0, 1)

    def linearised(self, network: Network, mean: Tensor, deviations: Tensor, x: Tensor) -> Tensor:
        def shifted(deviation: Tensor) -> Tensor:
            centre, change = jvp(lambda weights: network(weights, x), (mean,), (deviation,))
            return centre + change

        return vmap(shifted)(deviations)
