"""BatchEnsemble: an ensemble whose members share one weight matrix per layer, each scaled by vectors of its own.

Member k has in every layer an input scale r_k, an output scale s_k and a bias b_k beside the shared matrix W:

    h -> ((h * r_k) W) * s_k + b_k,      that is W_k = W * (r_k s_k^T) elementwise

(Wen et al. 2020). All members see the whole minibatch. Training minimises

    N times the mean of -log p(y | x, W_k, b_k) over the minibatch and the K members, plus alpha/2 |W|^2.

Scales start as random signs, as in the paper's experiments on images, and the biases of all members are equal at first.
"""

from typing import NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vmap

from lockstep_bench.methods.api import (
    MLP,
    Adam,
    Batch,
    LogUniform,
    Method,
    Network,
    Noise,
    Problem,
    Step,
    Task,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.networks.layers import Dense


class BatchEnsembleState(NamedTuple):
    """State of a BatchEnsemble's training. All layers together have H inputs and O outputs.

    Attributes:
        params: (D + K (H + O + O),): the shared weights (D,), whose biases are unused, then the scales and biases of
            each member.
        optim: optimiser of `params`.
    """

    params: Tensor
    optim: Adam


@catalogued("batch-ensemble")
class BatchEnsemble(Method):
    """BatchEnsemble of multilayer perceptrons. Hyper-parameters: `lr`, `prior_precision` (alpha), the likelihood's.

    Args:
        size: K, the number of members in one network.
    """

    weight_posterior = False

    def __init__(self, size: int = 4):
        self.size = size

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def excludes(self, task: Task) -> str | None:
        if not isinstance(self.network(task), MLP):
            return "scales are those of layers of a multilayer perceptron"
        return super().excludes(task)

    def init(self, problem: Problem, noise: Noise) -> BatchEnsembleState:
        weights = problem.initial_weights(noise)
        parts = [weights]
        biases = [piece for _, *rest in problem.network.split(weights) for piece in rest]
        for _ in range(self.size):
            for number, layer in enumerate(_layers(problem.network)):
                unit = noise.normal(layer.fan_in + layer.fan_out)
                parts.append(torch.where(unit < 0, -torch.ones_like(unit), torch.ones_like(unit)))
                parts += biases[number : number + layer.bias]
        params = torch.cat(parts)
        return BatchEnsembleState(params, Adam.init(params))

    def update(
        self, problem: Problem, state: BatchEnsembleState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[BatchEnsembleState, dict[str, Tensor]]:
        def objective(params: Tensor) -> Tensor:
            nll = problem.expected_nll(self.weights_of_members(problem.network, params), batch)
            matrices = [pieces[0] for pieces in problem.network.split(params[: problem.dim])]
            penalty = torch.stack([matrix.square().sum() for matrix in matrices]).sum()
            return problem.n_train * nll + 0.5 * problem.hparams.prior_precision * penalty

        gradient, value = grad_and_value(objective)(state.params)
        params, optim = state.optim.step(state.params, gradient, problem.hparams.lr, step)
        return BatchEnsembleState(params, optim), {"objective": value}

    def weights_of_members(self, network: Network, params: Tensor) -> Tensor:
        """Return the flat weight vectors of all members, (K, D), from the parameters `params` of the state."""
        shared = network.split(params[: network.dim])

        def member(fast: Tensor) -> Tensor:
            pieces, weights = iter(torch.split(fast, _sizes(network))), []
            for layer, (matrix, *_) in zip(_layers(network), shared, strict=True):
                inputs, outputs = next(pieces), next(pieces)
                weights.append((matrix.view(layer.fan_in, -1) * inputs[:, None] * outputs).flatten())
                weights += [next(pieces) for _ in range(layer.bias)]
            return torch.cat(weights)

        return vmap(member)(params[network.dim :].view(self.size, -1))

    def finish(self, problem: Problem, state: BatchEnsembleState) -> Tensor:
        return state.params

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return self.weights_of_members(problem.network, posterior)[:n_samples]


def _layers(network: Network) -> list[Dense]:
    return cast(list[Dense], list(network.layers))


def _sizes(network: Network) -> list[int]:
    """Return the numbers of separate parameters of a member in each layer: input scales, output scales and biases."""
    return [size for layer in _layers(network) for size in (layer.fan_in, layer.fan_out, *[layer.fan_out] * layer.bias)]
