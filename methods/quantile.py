"""Simultaneous quantile regression: one network f(x, tau) gives every quantile of a target.

It minimises the mean of the pinball loss

    max(tau (y - f), (tau - 1) (y - f)),      f = f(x, tau), tau ~ U(0, 1),

with a separate tau for every example of a minibatch (Tagasovska and Lopez-Paz 2019). tau is a further input of the
network, standardised like the others.

Training does not keep quantiles of different tau in order. For prediction they are sorted (Chernozhukov et al. 2010)
and moved apart to a minimum distance.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from lockstep_bench.methods.api import MLP, Network, Noise, Problem, Quantiles, Task
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.training.point_estimate import RegressionByLoss

LEVELS = [number / 20 for number in range(1, 20)]
# Least distance of neighbouring quantiles, of a standardised target. A normal distribution with the least variance that
# `HeteroscedasticGaussian` allows has it at its median.
LEAST_DISTANCE = 3e-4


@catalogued("quantile")
class SimultaneousQuantiles(RegressionByLoss):
    """Simultaneous quantile regression. Hyper-parameters: `lr` and `prior_precision`."""

    n_outputs = 1

    def network(self, task: Task) -> Network:
        network = super().network(task)
        return replace(network, n_inputs=network.n_inputs + 1) if isinstance(network, MLP) else network

    def excludes(self, task: Task) -> str | None:
        if not isinstance(task.network, MLP):
            return "the level of a quantile is an input, which only a multilayer perceptron can take"
        return super().excludes(task)

    def losses(self, problem: Problem, weights: Tensor, x: Tensor, y: Tensor, noise: Noise) -> Tensor:
        levels = noise.uniform(len(y))
        error = y - quantiles(problem, weights, x, levels)
        return torch.maximum(levels * error, (levels - 1) * error)

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> Quantiles:
        levels = torch.tensor(LEVELS, dtype=x.dtype, device=x.device)
        values = quantiles(problem, posterior, x.repeat_interleave(len(levels), 0), levels.repeat(len(x)))
        values = in_order(values.double().unflatten(0, (-1, len(levels))))
        return Quantiles.of(levels, problem.y_mean + problem.y_scale * values)


def quantiles(problem: Problem, weights: Tensor, x: Tensor, levels: Tensor) -> Tensor:
    """Return the quantiles f(x, tau) (M,) at inputs x (M, P) and levels tau (M,)."""
    standardised = math.sqrt(12) * (levels - 0.5)
    return problem.network(weights, torch.cat([x, standardised[:, None]], dim=1))[:, 0]


def in_order(values: Tensor) -> Tensor:
    """Return each row of `values` (n, K) sorted, with neighbours moved at least `LEAST_DISTANCE` apart."""
    steps = LEAST_DISTANCE * torch.arange(values.shape[1], dtype=values.dtype, device=values.device)
    return (values.sort(dim=1).values - steps).cummax(dim=1).values + steps
