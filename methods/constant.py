"""The constant predictor: ignores the inputs, and predicts only from the targets of the training rows.

Its predictive is the maximum-likelihood fit of one distribution to the N training targets, equal at all inputs:

    regression       N(m, v),  m = 1/N sum_i y_i,  v = 1/N sum_i (y_i - m)^2
    classification   p(c) = n_c / N,  n_c the number of training examples of class c

Where some class has no training example, p(c) = (n_c + 1) / (N + C) for all C classes (Laplace's rule of succession),
because a test example of that class would have an infinite loss. Nothing is tuned and nothing is trained: the targets
are counted in one pass. A method that is no better than this one has learnt nothing from the inputs.
"""

from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Batch,
    Classes,
    Method,
    Noise,
    Normals,
    Predictive,
    Problem,
    Step,
    Sweep,
    Task,
)
from lockstep_bench.methods.catalogue.rows import catalogued


class Sums(NamedTuple):
    """Running statistics of the targets in the minibatches so far, float64.

    Attributes:
        n_seen: (), the number of targets.
        mean: (), mean of the targets.
        square: (), sum of squared deviations from the mean.
        classes: (C,), number of examples of each class; zeros (1,) for a regression.
    """

    n_seen: Tensor
    mean: Tensor
    square: Tensor
    classes: Tensor


@catalogued("constant")
class Constant(Method):
    """Predicts the mean and variance of the training targets, or the class frequencies. It has no hyper-parameters."""

    deterministic = True
    sweeps = True
    one_pass = True
    weight_posterior = False

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {}

    def init(self, problem: Problem, noise: Noise) -> Sums:
        n_classes = 1 if problem.likelihood.standardises else max(2, problem.likelihood.n_outputs)
        zero = torch.zeros_like(problem.n_train, dtype=torch.float64)
        return Sums(zero, zero, zero, zero.expand(n_classes).clone())

    def update(self, problem: Problem, state: Sums, batch: Batch, noise: Noise, step: Step) -> Sums:
        return state

    def sweep(self, problem: Problem, state: Sums, rows: Sweep) -> Sums:
        y, present = rows.y.double(), rows.present.double()
        if not problem.likelihood.standardises:
            each = (y[:, None] == torch.arange(len(state.classes), device=y.device)) * present[:, None]
            return state._replace(n_seen=state.n_seen + present.sum(), classes=state.classes + each.sum(0))
        # Moments of the parts are merged without cancellation (Chan, Golub and LeVeque 1983).
        n_seen = state.n_seen + present.sum()
        mean = (y * present).sum() / present.sum().clamp(min=1)
        between = (mean - state.mean) * present.sum() / n_seen.clamp(min=1)
        square = state.square + ((y - mean).square() * present).sum()
        return Sums(n_seen, state.mean + between, square + between * (mean - state.mean) * state.n_seen, state.classes)

    def predict(self, problem: Problem, posterior: Sums, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        if problem.likelihood.standardises:
            mean, variance = posterior.mean, posterior.square / posterior.n_seen
            everywhere = problem.y_scale.new_ones(1, len(x))
            least = torch.finfo(everywhere.dtype).tiny
            return Normals(
                everywhere * (problem.y_mean + problem.y_scale * mean).to(everywhere),
                everywhere * (problem.y_scale**2 * variance).clamp(min=least).to(everywhere),
            )
        classes = posterior.classes
        counted = torch.where((classes == 0).any(), classes + 1, classes)
        log_probs = (counted / counted.sum()).log().to(problem.y_scale)
        return Classes(log_probs.expand(1, len(x), -1))
