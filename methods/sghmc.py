"""SGHMC: Hamiltonian dynamics with friction and minibatch gradients, with a step length adapted to each weight.

The posterior is proportional to exp(-N s u), with the objective u and the scale s of `methods.training.chains`. An
update is

    v <- (1 - a) v - h P grad u + N(0, 2 a h P / (N s) - h^2),      theta <- theta + v,

This is SGHMC in the velocity form of Chen, Fox and Guestrin 2014, eq. 15, with the friction a = 0.05 and the step h =
lr^2. The preconditioner P = V^(-1/2) is that of Springenberg et al. 2016, where V estimates the mean squared gradient.
V also serves as the estimate of the gradient noise's variance, which gives the term -h^2 in the variance of the
injected noise. This variance is at least 0.

In the burn-in, half of all updates, V is an average over a time tau that adapts for each weight:

    r = 1 / (tau + 1),  tau <- tau + 1 - tau g^2 / V,  g <- g + r (grad u - g),  V <- V + r ((grad u)^2 - V).

With r = 1 / tau, as printed in the paper, tau would stay at 1; the authors' code has r = 1 / (tau + 1). After the
burn-in V is fixed.

The force P grad u is shortened where its root mean square over the weights is above 10, for chains far from the
posterior, and keeps its direction. A limit on each weight by itself turns the force, and such chains do not come back.
"""

import math
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import Batch, LogUniform, Noise, Plan, Problem, Step, Task, clip_norm
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.mcmc.draws import Kept
from lockstep_bench.methods.training.chains import MinibatchChains, ends_a_part, gradient_and_objective

LARGEST = 10.0  # root mean square of the force over the weights; longer forces are shortened to it
LEAST_SQUARE = 1e-16


class Scales(NamedTuple):
    """Running averages of the gradient of u, each of the shape (D,).

    Attributes:
        time: tau, the number of recent gradients that the averages cover.
        mean: g, average of the gradient.
        square: V, average of the squared gradient.
    """

    time: Tensor
    mean: Tensor
    square: Tensor

    @classmethod
    def init(cls, weights: Tensor) -> "Scales":
        """Return the averages before the first gradient, all 1."""
        ones = torch.ones_like(weights)
        return cls(ones, ones, ones)

    def after(self, gradient: Tensor) -> "Scales":
        """Return the averages after one more gradient (D,)."""
        rate = 1 / (self.time + 1)
        time = self.time + 1 - self.time * self.mean.square() / self.square.clamp(min=LEAST_SQUARE)
        mean = self.mean + rate * (gradient - self.mean)
        return Scales(time, mean, self.square + rate * (gradient.square() - self.square))


class SGHMCState(NamedTuple):
    """State of an SGHMC chain.

    Attributes:
        weights: (D,), current weights.
        velocity: (D,), change of the weights in the last update.
        scales: running averages of the gradient.
        kept: draws of the posterior.
    """

    weights: Tensor
    velocity: Tensor
    scales: Scales
    kept: Kept


@catalogued("sghmc")
class SGHMC(MinibatchChains):
    """Scale-adapted SGHMC. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Args:
        chains, passes, draws: see `methods.training.chains.MinibatchChains`.
        friction: a, the fraction of its velocity that a chain loses at each update.
        burn_in: fraction of the updates before the first draw.
    """

    def __init__(
        self, chains: int = 4, passes: int = 1000, draws: int = 100, friction: float = 0.05, burn_in: float = 0.5
    ):
        super().__init__(chains, passes, draws)
        self.friction, self.burn_in = friction, burn_in

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(3e-3, 3e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def phase(self, update: int, plan: Plan) -> str:
        """Return "adapt" in the burn-in; then "keep" if a draw is kept, else "move"."""
        start = int(self.burn_in * plan.n_updates)
        if update <= start:
            return "adapt"
        before, after = ((number - start) / (plan.n_updates - start) for number in (update - 1, update))
        return "keep" if ends_a_part(before, after, self.draws) else "move"

    def init(self, problem: Problem, noise: Noise) -> SGHMCState:
        weights = problem.initial_weights(noise)
        return SGHMCState(weights, torch.zeros_like(weights), Scales.init(weights), Kept.init(weights, self.draws))

    def update(
        self, problem: Problem, state: SGHMCState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[SGHMCState, dict[str, Tensor]]:
        gradient, objective = gradient_and_objective(problem, state.weights, batch)
        scales = state.scales.after(gradient) if step.phase == "adapt" else state.scales
        rate, root = problem.hparams.lr.square(), scales.square.clamp(min=LEAST_SQUARE).sqrt()
        injected = 2 * self.friction * rate / (root * problem.n_train * problem.scale)
        spread = (injected - rate.square()).clamp(min=0).sqrt()
        force = clip_norm(gradient / root, LARGEST * math.sqrt(problem.dim))
        velocity = (1 - self.friction) * state.velocity - rate * force + spread * noise.normal(problem.dim)
        weights = state.weights + velocity
        kept = state.kept.add(weights) if step.phase == "keep" else state.kept
        return SGHMCState(weights, velocity, scales, kept), {"objective": objective}

    def finish(self, problem: Problem, state: SGHMCState) -> Tensor:
        return state.kept.draws
