"""Spectral-normalised neural Gaussian process: hidden layers of bounded norm, and a Gaussian process on their outputs.

With h(x) the last hidden units, the prior of the function is a Gaussian process of h with the kernel

    k(h, h') = 1 / alpha exp(-|h - h'|^2 / (2 l^2)),

approximated by R random Fourier features Phi(h) = sqrt(2 / R) cos(W h + b) and weights w ~ N(0, I / alpha) of the last
layer, with W ~ N(0, 1 / l^2) and b ~ U(0, 2 pi) fixed (Liu et al. 2020). Training minimises

    -log p(D | v, w) + alpha/2 (|v|^2 + |w|^2)

over w and the weights v of the hidden layers. After every update, the matrix of each hidden layer whose largest
singular value is above c is scaled down to c, so that h keeps the scale of distances in the inputs. The value is
estimated by one power iteration per update, and computed exactly after the last update.

Then one pass over all training rows gives the Laplace approximation of w, as in `methods.laplace`: the precision is
alpha I + sum_n Phi_n^T Lambda_n Phi_n. A Gaussian likelihood also gets the exact mean given v. Predictions are draws of
w. Far from all data their variance is the prior's, 1 / alpha.

The paper's networks are residual, which bounds distances from below, too. Here the task's multilayer perceptron is
taken as it is, so that all methods have one network; its units can map distant inputs to equal h.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    MLP,
    Adam,
    Batch,
    Layer,
    LogUniform,
    Network,
    Noise,
    Pieces,
    Problem,
    Step,
    Sweep,
    Task,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.laplace import LaplacePosterior, LastLayerLaplace
from lockstep_bench.methods.map import MAPState
from lockstep_bench.methods.networks.layers import Dense
from lockstep_bench.methods.networks.mlp import ACTIVATIONS, Apply, Chain, features

N_FEATURES = 256
BOUND = 0.95  # c


@dataclass(frozen=True)
class Fourier:
    """Random Fourier features sqrt(2 / R) cos(h W + b), with W flattened from (H, R) in row-major order.

    Attributes:
        fan_in: H, dimension of h.
        n_features: R, number of features.
    """

    fan_in: int
    n_features: int

    @property
    def sizes(self) -> list[int]:
        """The number of entries of W and of b."""
        return [self.fan_in * self.n_features, self.n_features]

    def __call__(self, pieces: Pieces, x: Tensor) -> Tensor:
        angles = x @ pieces[0].reshape(self.fan_in, self.n_features) + pieces[1]
        return math.sqrt(2 / self.n_features) * torch.cos(angles)

    def initial(self, noise: Noise) -> Tensor:
        """Draw W with lengthscale l = 1, then b, as one flat vector."""
        matrix, phases = self.sizes
        return torch.cat([noise.normal(matrix), 2 * math.pi * noise.uniform(phases)])


@dataclass(frozen=True)
class FourierMLP(Chain):
    """The hidden layers of a multilayer perceptron, random Fourier features of their outputs, and a linear layer.

    Attributes:
        base: network that gives the hidden layers and the number of outputs.
        n_features: R, number of random Fourier features.
    """

    base: MLP
    n_features: int

    @property
    def n_outputs(self) -> int:
        return self.base.n_outputs

    @property
    def activation(self) -> str:
        return self.base.activation

    @property
    def hidden(self) -> list[Dense]:
        """The hidden layers of the multilayer perceptron."""
        return self.base.layers[:-1]

    @property
    def layers(self) -> list[Layer]:
        fourier = Fourier(self.base.layers[-1].fan_in, self.n_features)
        return [*self.hidden, fourier, Dense(self.n_features, self.n_outputs, bias=False)]

    def forward(self, x: Tensor, apply: Apply) -> Tensor:
        activate = ACTIVATIONS[self.activation]
        for number, layer in enumerate(self.layers):
            x = apply(number, layer, x)
            if number < len(self.hidden):
                x = activate(x)
        return x

    def linear(self) -> Network:
        return self.base.linear()


class SNGPState(NamedTuple):
    """State of SNGP's training, and then of the pass over the training rows.

    Attributes:
        trained: all weights and their optimiser.
        precision: (T, T), float64, as in `methods.laplace.LaplaceState`.
        gradient: (T,), float64, gradient in w of the negative log-likelihood of the rows so far; used for a Gaussian
            likelihood only.
        directions: (H,), estimates of the leading singular vectors of all hidden layers, concatenated.
    """

    trained: MAPState
    precision: Tensor
    gradient: Tensor
    directions: Tensor


@catalogued("sngp")
class SNGP(LastLayerLaplace):
    """Spectral-normalised neural Gaussian process. Hyper-parameters: `lengthscale` (l) and those of MAP.

    Args:
        n_features: R, number of random Fourier features.
        bound: c, upper bound of the largest singular value of each hidden layer.
    """

    weight_posterior = False

    def __init__(self, n_features: int = N_FEATURES, bound: float = BOUND):
        self.n_features, self.bound = n_features, bound

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return super().search_space(task) | {"lengthscale": LogUniform(0.3, 10)}

    def network(self, task: Task) -> Network:
        return FourierMLP(task.network, self.n_features) if isinstance(task.network, MLP) else task.network

    def excludes(self, task: Task) -> str | None:
        if not isinstance(task.network, MLP):
            return "its norms are those of layers of a multilayer perceptron"
        return super().excludes(task)

    def init(self, problem: Problem, noise: Noise) -> Any:
        network = cast(FourierMLP, problem.network)
        start, end = random_weights(network)
        weights = network.initial_weights(noise)
        matrix = start + network.layers[-2].sizes[0]
        weights = torch.cat([weights[:start], weights[start:matrix] / problem.hparams.lengthscale, weights[matrix:]])
        empty = weights.new_zeros(0, 0, dtype=torch.float64)
        directions = noise.normal(sum(layer.fan_out for layer in network.hidden))
        gradient = weights.new_zeros(network.dim - end, dtype=torch.float64)
        return SNGPState(MAPState(weights, Adam.init(weights)), empty, gradient, directions)

    def update(
        self, problem: Problem, state: Any, batch: Batch, noise: Noise, step: Step
    ) -> tuple[Any, dict[str, Tensor]]:
        network = cast(FourierMLP, problem.network)
        (weights, optim), (start, end) = state.trained, random_weights(network)

        def negative_log_posterior(weights: Tensor) -> Tensor:
            v, fixed, w = weights[:start], weights[start:end].detach(), weights[end:]
            data = problem.n_train * problem.nll(torch.cat([v, fixed, w]), batch)
            return data + 0.5 * problem.hparams.prior_precision * (v.square().sum() + w.square().sum())

        gradient, value = grad_and_value(negative_log_posterior)(weights)
        weights, optim = optim.step(weights, gradient, problem.hparams.lr, step)
        weights, directions = power_iterated(network, weights, state.directions, self.bound)
        return state._replace(trained=MAPState(weights, optim), directions=directions), {"objective": value}

    def sweep(self, problem: Problem, state: Any, rows: Sweep) -> Any:
        weights = bounded(cast(FourierMLP, problem.network), state.trained.weights, self.bound)
        state = super().sweep(problem, state._replace(trained=state.trained._replace(weights=weights)), rows)
        if problem.likelihood.kind != "gaussian":
            return state
        phi = features(problem.network, weights, rows.x).double()
        error = phi @ weights[-phi.shape[1] :].double() - rows.y
        added = problem.scale * (rows.present * error) @ phi
        return state._replace(gradient=state.gradient + added)

    def finish(self, problem: Problem, state: Any) -> LaplacePosterior:
        posterior = super().finish(problem, state)
        if problem.likelihood.kind != "gaussian":
            return posterior
        certain, w = torch.tensor_split(posterior.mean, [problem.dim - len(posterior.root)])
        slope = state.gradient + problem.hparams.prior_precision * w
        mean = w - torch.cholesky_solve(slope[:, None].to(w), posterior.root)[:, 0]
        return posterior._replace(mean=torch.cat([certain, mean]))


def random_weights(network: FourierMLP) -> tuple[int, int]:
    """Return the start and end index of the random features' weights in the flat weight vector."""
    start = sum(sum(layer.sizes) for layer in network.hidden)
    return start, start + sum(network.layers[-2].sizes)


def power_iterated(network: FourierMLP, weights: Tensor, directions: Tensor, bound: float) -> tuple[Tensor, Tensor]:
    """Scale hidden layers down to the spectral norm `bound`, estimated by one power iteration.

    Args:
        network: the network.
        weights: (D,), weights before scaling.
        directions: (H,), estimates of the leading singular vectors of all hidden layers, concatenated; they need not
            be normalised.
        bound: c, largest allowed spectral norm.

    Returns:
        The scaled weights (D,), and the new singular vectors (H,).
    """
    parts, after = [], []
    of_layers = torch.split(directions, [layer.fan_out for layer in network.hidden])
    for layer, pieces, direction in zip(network.hidden, network.split(weights), of_layers, strict=False):
        matrix = pieces[0].reshape(layer.fan_in, layer.fan_out)
        left = _unit(matrix @ _unit(direction))
        image = left @ matrix  # its length is the estimate, which is at most the norm
        norm = torch.linalg.vector_norm(image)
        parts += [pieces[0] * (bound / norm.clamp(min=bound)), *pieces[1:]]
        after.append(image / norm.clamp(min=1e-30))
    rest = weights[random_weights(network)[0] :]
    return torch.cat([*parts, rest]), torch.cat(after) if after else directions


def bounded(network: FourierMLP, weights: Tensor, bound: float) -> Tensor:
    """Return weights (D,) with hidden layers scaled down so that their largest singular value is at most `bound`."""
    parts = []
    for layer, pieces in zip(network.hidden, network.split(weights), strict=False):
        norm = torch.linalg.svdvals(pieces[0].reshape(layer.fan_in, layer.fan_out))[0]
        parts += [pieces[0] * (bound / norm.clamp(min=bound)), *pieces[1:]]
    return torch.cat([*parts, weights[random_weights(network)[0] :]])


def _unit(direction: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(direction)
    return direction / length.clamp(min=1e-30)
