"""Laplace approximation: a Gaussian around the MAP weights whose precision is the curvature of the posterior.

After MAP training, one exact pass over the N training rows accumulates the generalised Gauss-Newton matrix (GGN):

    q(theta) = N(theta_MAP, (GGN + alpha I)^-1),      GGN = sum_n J_n^T Lambda_n J_n.

J_n (O, T) is the Jacobian of the outputs at x_n in the T uncertain weights. Lambda_n (O, O) is the Fisher information
of the likelihood in its outputs, which equals its Hessian if the Hessian does not depend on y. The uncertain weights
are those of the last layer (the default of Daxberger et al. 2021) or all. alpha is the prior precision of training.

The predictive is that of the linearised model f(x; theta_MAP) + J(x) (theta - theta_MAP), whose posterior is q. Weight
samples of a GGN posterior underfit badly in the network itself (Immer et al. 2021, section 3 and figure 1). For the
weights of the last layer the network is linear, and both predictives are equal.
"""

from abc import abstractmethod
from functools import reduce
from typing import NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import jacrev, jvp, vmap

from lockstep_bench.methods.api import Batch, Method, Network, Noise, Predictive, Problem, Step, Sweep, Task
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.map import MAP, MAPState
from lockstep_bench.methods.networks.layers import Dense
from lockstep_bench.methods.networks.mlp import features

MAX_UNCERTAIN = 1000  # largest T: a stack of 150 took 3 GB at T = 701; at 1000 it would take 6 GB, as T^2
JACOBIAN_NUMBERS = 1 << 18  # entries of one model's Jacobian that are computed at once
# Limits for networks of images, which are fitted one at a time: 800 MB, and 128 MB in double precision.
MAX_LAST_LAYER_OF_IMAGES = 10_000
JACOBIAN_NUMBERS_OF_IMAGES = 1 << 24

TRAINING = MAP()  # finds the mean, and has the hyper-parameters


class LaplaceState(NamedTuple):
    """State of MAP training, and then of the pass over the training rows.

    Attributes:
        trained: state of MAP.
        precision: (T, T), alpha I + GGN of the rows so far. It is empty, (0, 0), during training, to save memory, and
            float64, because alpha may be below the rounding error of the largest eigenvalues in float32.
    """

    trained: MAPState
    precision: Tensor


class LaplacePosterior(NamedTuple):
    """Gaussian posterior of the last T weights.

    Attributes:
        mean: (D,), the MAP weights.
        root: (T, T), lower Cholesky factor of the precision of the last T weights; NaN if the factorisation failed.
    """

    mean: Tensor
    root: Tensor


class Laplace(Method):
    """Base of the Laplace approximations of the last layer and of all weights.

    Hyper-parameters: `lr` and `prior_precision` (alpha) of MAP, and the likelihood's.
    """

    sweeps = True
    max_uncertain_of_images = MAX_UNCERTAIN

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return TRAINING.search_space(task)

    @abstractmethod
    def uncertain(self, network: Network) -> int:
        """Return T, the number of uncertain weights; they are the last ones of the flat weight vector."""

    def excludes(self, task: Task) -> str | None:
        network = self.network(task)
        count = self.uncertain(network)
        most = MAX_UNCERTAIN if network.image is None else self.max_uncertain_of_images
        if count > most:
            return f"its covariance would be of {count} weights; {most} are allowed"
        return super().excludes(task)

    def init(self, problem: Problem, noise: Noise) -> LaplaceState:
        trained = TRAINING.init(problem, noise)
        return LaplaceState(trained, trained.weights.new_zeros(0, 0, dtype=torch.float64))

    def update(
        self, problem: Problem, state: LaplaceState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[LaplaceState, dict[str, Tensor]]:
        trained, diagnostics = TRAINING.update(problem, state.trained, batch, noise, step)
        return state._replace(trained=trained), diagnostics

    @abstractmethod
    def inputs(self, network: Network, weights: Tensor, x: Tensor) -> Tensor:
        """Return the inputs (M, H) of the layers with uncertain weights, when the network's inputs are x (M, P)."""

    @abstractmethod
    def outputs(self, network: Network, weights: Tensor, inputs: Tensor) -> Tensor:
        """Return the network's outputs (M, O), given the inputs (M, H) of the layers with uncertain weights."""

    @abstractmethod
    def curvature(self, network: Network, weights: Tensor, inputs: Tensor, fisher: Tensor) -> Tensor:
        """Return the generalised Gauss-Newton matrix of M rows in the T uncertain weights, float64.

        It is the sum of J_n^T Lambda_n J_n, with the Jacobian J_n of the outputs in the uncertain weights. It has the
        shape (T, T), or holds entries that are equal once, from which `matrix` makes that shape. `inputs` (M, H) are
        the inputs of the layers with uncertain weights. `fisher` (M, O, O) holds Lambda_n, the Fisher information of
        the outputs.
        """

    def matrix(self, network: Network, curvature: Tensor) -> Tensor:
        """Return the generalised Gauss-Newton matrix (T, T) from a sum of results of `curvature`."""
        return curvature

    def sweep(self, problem: Problem, state: LaplaceState, rows: Sweep) -> LaplaceState:
        network, weights, precision = problem.network, state.trained.weights, state.precision
        if not len(precision):
            identity = torch.eye(self.uncertain(network), dtype=torch.float64, device=weights.device)
            precision = problem.hparams.prior_precision * identity
        # All rows pass the network together: with batch normalisation, reference rows are among them.
        inputs = self.inputs(network, weights, rows.x)
        limit = JACOBIAN_NUMBERS if network.image is None else JACOBIAN_NUMBERS_OF_IMAGES
        at_once = max(1, limit // (len(precision) * network.n_outputs))

        def curvature_of(part: Tensor, present: Tensor) -> Tensor:
            fisher = problem.fisher(self.outputs(network, weights, part)) * present[:, None, None]
            return self.curvature(network, weights, part, fisher)

        parts = map(curvature_of, torch.split(inputs, at_once), torch.split(rows.present, at_once))
        curvature = reduce(Tensor.add_, parts)  # in place: a stack's matrices may have hundreds of megabytes
        return state._replace(precision=precision + self.matrix(network, curvature))

    def finish(self, problem: Problem, state: LaplaceState) -> LaplacePosterior:
        root, failed = torch.linalg.cholesky_ex(state.precision)
        weights = state.trained.weights
        return LaplacePosterior(weights, root.to(weights).where(failed == 0, torch.nan))

    def moments(self, problem: Problem, posterior: LaplacePosterior) -> tuple[Tensor, Tensor]:
        certain = problem.dim - len(posterior.root)
        uncertain = torch.cholesky_inverse(posterior.root)
        return posterior.mean, torch.nn.functional.pad(uncertain, (certain, 0, certain, 0))

    def predict(
        self, problem: Problem, posterior: LaplacePosterior, x: Tensor, noise: Noise, n_samples: int
    ) -> Predictive:
        unit = noise.normal(len(posterior.root), n_samples)
        deviations = torch.linalg.solve_triangular(posterior.root.T, unit, upper=True).T
        outputs = self.linearised(problem.network, posterior.mean, deviations, x)
        return problem.predictive_of_outputs(outputs)

    @abstractmethod
    def linearised(self, network: Network, mean: Tensor, deviations: Tensor, x: Tensor) -> Tensor:
        """Return the linearised outputs f + J delta_s, (S, M, O), at x (M, P).

        Args:
            network: the network.
            mean: (D,), weights at which f and J are evaluated.
            deviations: (S, T), delta_s, deviations of the last T weights.
            x: (M, P).
        """


@catalogued("laplace")
class LastLayerLaplace(Laplace):
    """Laplace approximation of the last layer's weights; all others stay at their MAP values."""

    max_uncertain_of_images = MAX_LAST_LAYER_OF_IMAGES

    one_pass = True

    def uncertain(self, network: Network) -> int:
        return sum(last_layer(network).sizes)

    def inputs(self, network: Network, weights: Tensor, x: Tensor) -> Tensor:
        return features(network, weights, x)

    def outputs(self, network: Network, weights: Tensor, inputs: Tensor) -> Tensor:
        return last_layer(network)(network.split(weights)[-1], inputs)

    def curvature(self, network: Network, weights: Tensor, inputs: Tensor, fisher: Tensor) -> Tensor:
        # J_n is the Kronecker product of (h, 1), the layer's inputs and a one for its bias, and the identity of size O.
        # Summing h h^T per pair of outputs takes O times fewer operations than products with J_n. As Lambda_n is
        # symmetric, one order of each pair is enough.
        inputs = inputs.double()
        if last_layer(network).bias:
            inputs = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1)
        first, second = torch.triu_indices(*fisher.shape[1:], device=fisher.device)
        weighted = fisher[:, first, second].double()[..., None] * inputs[:, None]  # (M, pairs, H)
        return torch.unflatten(inputs.T @ weighted.flatten(1), 1, weighted.shape[1:])  # (H, pairs, H)

    def matrix(self, network: Network, curvature: Tensor) -> Tensor:
        first, second = torch.triu_indices(network.n_outputs, network.n_outputs, device=curvature.device)
        pair = first.new_empty(network.n_outputs, network.n_outputs)  # the number of the pair of two outputs
        pair[first, second] = pair[second, first] = torch.arange(len(first), device=curvature.device)
        return curvature[:, pair].transpose(2, 3).flatten(0, 1).flatten(1, 2)

    def linearised(self, network: Network, mean: Tensor, deviations: Tensor, x: Tensor) -> Tensor:
        # The network is linear in these weights: only the last layer has to be evaluated with other weights.
        inputs, last = features(network, mean, x), last_layer(network)

        def shifted(deviation: Tensor) -> Tensor:
            return last(torch.split(mean[-len(deviation) :] + deviation, last.sizes), inputs)

        return vmap(shifted)(deviations)


@catalogued("laplace-full")
class FullLaplace(Laplace):
    """Laplace approximation of all weights, for networks of up to `MAX_UNCERTAIN` weights."""

    def uncertain(self, network: Network) -> int:
        return network.dim

    def excludes(self, task: Task) -> str | None:
        if self.network(task).couples_rows:
            return "batch normalisation couples examples, and the Jacobian at a single one does not exist"
        return super().excludes(task)

    def inputs(self, network: Network, weights: Tensor, x: Tensor) -> Tensor:
        return x

    def outputs(self, network: Network, weights: Tensor, inputs: Tensor) -> Tensor:
        return network(weights, inputs)

    def curvature(self, network: Network, weights: Tensor, inputs: Tensor, fisher: Tensor) -> Tensor:
        jacobian = vmap(jacrev(lambda weights, x: network(weights, x[None])[0]), in_dims=(None, 0))
        j: Tensor = jacobian(weights, inputs).double()
        return j.flatten(0, 1).T @ (fisher.double() @ j).flatten(0, 1)

    def linearised(self, network: Network, mean: Tensor, deviations: Tensor, x: Tensor) -> Tensor:
        def shifted(deviation: Tensor) -> Tensor:
            outputs: tuple[Tensor, Tensor] = jvp(lambda weights: network(weights, x), (mean,), (deviation,))[:2]
            return outputs[0] + outputs[1]

        return vmap(shifted)(deviations)


def last_layer(network: Network) -> Dense:
    """Return the network's last layer, which is a `Dense` in every network."""
    return cast(Dense, network.layers[-1])
