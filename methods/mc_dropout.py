"""MC dropout: dropout of the inputs of every layer, in training and in prediction.

A sample of a layer's weights is W = diag(z) M / (1 - r), where z_i = 0 with probability r and 1 otherwise. The inputs
of every layer, those of the network included, are dropped at rate r, and the rest is scaled as in `torch.nn.Dropout`.
Training minimises

    sum_n -log p(y_n | x_n, W_n) + alpha / 2 (sum |M|^2 / (1 - r) + sum |b|^2)

with one sample W_n per example. Up to terms without M, this is the negative ELBO of the distribution of W under the
prior N(0, I / alpha), whose penalty is alpha / 2 (E|W|^2 + |b|^2) (Gal and Ghahramani 2016, section 3 and appendix;
alpha is their squared prior length-scale, and their M is M / (1 - r) here). Inputs of normalisation layers are not
dropped, and their scales and shifts are penalised as b.

In prediction, a sample is one mask z for all points. In a convolution every input pixel has its own mask, as in the
authors' image models.
"""

from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    Layer,
    LogUniform,
    Matrix,
    Method,
    Noise,
    OneOf,
    Pieces,
    Predictive,
    Problem,
    Step,
    Task,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued


class MCDropoutState(NamedTuple):
    """State of training with MC dropout.

    Attributes:
        weights: (D,), weight matrices M and biases b of all layers.
        optim: optimiser of the weights.
    """

    weights: Tensor
    optim: Adam


@catalogued("mc-dropout")
class MCDropout(Method):
    """MC dropout with Adam.

    Hyper-parameters: `lr`, `prior_precision` (alpha), `dropout_rate` (r) and the likelihood's. The grid of rates is
    that of the authors' UCI code. The squared length-scale of this code, 1e-4, is the lower end of the range of alpha.
    """

    weight_posterior = False

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 3e-2),
            "prior_precision": LogUniform(1e-4, 10),
            "dropout_rate": OneOf(0.005, 0.01, 0.05, 0.1),
            **task.likelihood.search_space(),
        }

    def init(self, problem: Problem, noise: Noise) -> MCDropoutState:
        weights = problem.initial_weights(noise)
        return MCDropoutState(weights, Adam.init(weights))

    def update(
        self, problem: Problem, state: MCDropoutState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[MCDropoutState, dict[str, Tensor]]:
        x, y = batch.x.flatten(0, 1)[:, None], batch.y.flatten()[:, None]  # every example has a sample to itself

        def objective(weights: Tensor) -> Tensor:
            outputs = sampled_outputs(problem, weights, x, problem.hparams.dropout_rate, noise)
            nll = problem.nll_of_outputs(outputs, y).mean()
            penalty = expected_square(problem, weights, problem.hparams.dropout_rate)
            return problem.n_train * nll + 0.5 * problem.hparams.prior_precision * penalty

        gradient, value = grad_and_value(objective)(state.weights)
        weights, optim = state.optim.step(state.weights, gradient, problem.hparams.lr, step)
        return MCDropoutState(weights, optim), {"objective": value}

    def finish(self, problem: Problem, state: MCDropoutState) -> Tensor:
        return state.weights

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        # Under batch normalisation samples that went through the network side by side would share their statistics.
        at_once = 1 if problem.network.couples_rows else n_samples
        parts = torch.split(x.expand(n_samples, *x.shape), at_once)
        outputs = torch.cat(
            [sampled_outputs(problem, posterior, part, problem.hparams.dropout_rate, noise) for part in parts]
        )
        return problem.predictive_of_outputs(outputs)


def sampled_outputs(problem: Problem, weights: Tensor, x: Tensor, rate: Tensor, noise: Noise) -> Tensor:
    """Return the outputs of S sampled networks, (S, n, O); network s is evaluated at x[s] (n, P)."""
    pieces, shape = problem.network.split(weights), x.shape[:2]
    keep = 1 - rate
    threshold = torch.special.ndtri(keep)  # a normal number is below it with probability 1 - r

    def dropped(number: int, layer: Layer, h: Tensor) -> Tensor:
        if not isinstance(layer, Matrix):
            return layer(pieces[number], h)
        kept = noise.normal(shape[0], 1, *h.shape[1:]) < threshold
        masked = torch.unflatten(h, 0, shape) * (kept / keep)
        return layer(pieces[number], masked.flatten(0, 1))

    return torch.unflatten(problem.network.forward(x.flatten(0, 1), dropped), 0, shape)


def expected_square(problem: Problem, weights: Tensor, rate: Tensor) -> Tensor:
    """Return E|W|^2 + |b|^2, the expected squared norm of weights and biases under dropout, over all layers, ()."""

    def square(layer: Layer, pieces: Pieces) -> Tensor:
        first, *rest = (piece.square().sum() for piece in pieces)
        return (first / (1 - rate) if isinstance(layer, Matrix) else first) + sum(rest)

    return torch.as_tensor(sum(map(square, problem.network.layers, problem.network.split(weights))))
