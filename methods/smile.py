"""SMILE, stochastic microcanonical Langevin ensembles: chains of MCLMC with minibatch gradients.

Each member is trained by Adam on the log posterior for a fifth of its updates. Then a chain of `methods.mcmc.mclmc`
starts at the trained weights, and each of its steps uses one minibatch. Minibatch noise turns the velocity at random,
as the Langevin part of MCLMC does. Noise of equal size in all directions leaves the posterior unchanged, and any other
noise biases the draws (Sommer et al. 2026). The chain therefore moves in the coordinates (s_i theta_i), in which the
noise is equal for all weights. Here s_i is the standard deviation of weight i's minibatch gradients, divided by the
root mean square of all these standard deviations (pSMILE). s_i is a running average over about 100 gradients during
warm-up, which ends after half of all updates, and is fixed afterwards.

The step length epsilon is also tuned in warm-up. It is at most

    epsilon = 0.3 (D - 1) / |s|,      with the standard deviations themselves as s,

at which noise turns the velocity by an angle of 0.3 per step. Below this limit it is tuned to a target variance of the
energy error, as in `methods.mile`. The energy error is measured on one minibatch, which takes a third gradient, at the
start of the step. The authors' code has another tuner: it compares energy errors with quantiles of earlier ones, and
resets a chain after a large error. Here, steps that end in non-finite numbers are not made. The velocity also forgets
its direction over a length of at least 15, the initial value in MILE. Chains therefore move at random even if one
minibatch contains all rows.
"""

import math
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import Adam, Batch, LogUniform, Noise, Plan, Problem, Step, Task, grad_and_value
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.mcmc.draws import Kept
from lockstep_bench.methods.mcmc.mclmc import Chain, Tuning, stepped
from lockstep_bench.methods.mile import LEAST_LENGTH
from lockstep_bench.methods.training.chains import MinibatchChains, ends_a_part

TRAINING, WARMED = 0.2, 0.5  # shares of the updates before the chain, and before its first draw
MEMORY = 0.99  # part of the running averages that a gradient keeps
LEAST_SCALE = 0.1  # of s, relative to the root mean square
ERROR = 0.1  # wanted variance of a step's energy error per weight


class GradientNoise(NamedTuple):
    """Running mean and variance of minibatch gradients, from which the weights' scales s follow.

    Attributes:
        mean: (D,), weighted mean of gradients.
        square: (D,), weighted mean of squared deviations from the mean.
        weight: (), sum of the averaging weights; tends to 1 after many gradients.
    """

    mean: Tensor
    square: Tensor
    weight: Tensor

    @classmethod
    def init(cls, weights: Tensor) -> "GradientNoise":
        """Return the averages before the first gradient."""
        return cls(torch.zeros_like(weights), torch.zeros_like(weights), torch.zeros_like(weights[0]))

    def after(self, gradient: Tensor) -> "GradientNoise":
        """Return the averages after one more gradient (D,)."""
        weight = MEMORY * self.weight + 1 - MEMORY
        rate = ((1 - MEMORY) / weight).clamp(max=1)  # rounded, it may be above
        deviation = gradient - self.mean
        # The first gradient is its own mean. Afterwards this is the variance with exponential weights.
        square = (1 - rate) * (self.square + rate * deviation.square())
        return GradientNoise(self.mean + rate * deviation, square, weight)

    def scales(self) -> tuple[Tensor, Tensor]:
        """Return the scales s (D,), and the norm of the standard deviations, ().

        The scales are the gradients' standard deviations divided by their root mean square, and at least `LEAST_SCALE`.
        """
        size = self.square.mean().sqrt()
        scales = (self.square.sqrt() / size.clamp(min=1e-30)).clamp(min=LEAST_SCALE)
        return scales / scales.square().mean().sqrt(), size * math.sqrt(len(self.square))


class SMILEState(NamedTuple):
    """State of a SMILE chain.

    Attributes:
        weights: (D,), current weights.
        optim: optimiser of the weights before the chain starts.
        velocity: (D,), a unit vector, in the scaled coordinates.
        spread: running mean and variance of minibatch gradients.
        tuning: state of the step-length tuning.
        kept: draws of the posterior.
    """

    weights: Tensor
    optim: Adam
    velocity: Tensor
    spread: GradientNoise
    tuning: Tuning
    kept: Kept


@catalogued("smile")
class SMILE(MinibatchChains):
    """Stochastic microcanonical Langevin ensembles. Hyper-parameters: `lr`, `prior_precision` and the likelihood's.

    Args:
        chains, passes, draws: see `methods.training.chains.MinibatchChains`.
        turn: largest angle by which the noise of minibatches turns the velocity in a step. Smaller ones make draws less
            biased and chains slower.
    """

    def __init__(self, chains: int = 4, passes: int = 1000, draws: int = 100, turn: float = 0.3):
        super().__init__(chains, passes, draws)
        self.turn = turn

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-3, 1e-2),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def phase(self, update: int, plan: Plan) -> str:
        """Return "train", then "tune", and then "keep" if a draw is kept, else "move"."""
        start = int(WARMED * plan.n_updates)
        if update <= start:
            return "train" if update <= int(TRAINING * plan.n_updates) else "tune"
        before, after = ((number - start) / (plan.n_updates - start) for number in (update - 1, update))
        return "keep" if ends_a_part(before, after, self.draws) else "move"

    def init(self, problem: Problem, noise: Noise) -> SMILEState:
        weights, direction = problem.initial_weights(noise), noise.normal(problem.dim)
        velocity = direction / torch.linalg.vector_norm(direction)
        tuning, kept = Tuning.init(problem.hparams.lr), Kept.init(weights, self.draws)
        return SMILEState(weights, Adam.init(weights), velocity, GradientNoise.init(weights), tuning, kept)

    def update(
        self, problem: Problem, state: SMILEState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[SMILEState, dict[str, Tensor]]:
        gradient, value = grad_and_value(problem.log_posterior)(state.weights, batch)
        if step.phase == "train":
            weights, optim = state.optim.step(state.weights, -gradient, problem.hparams.lr, step)
            return state._replace(weights=weights, optim=optim), {"objective": -value}
        if step.phase == "tune":
            state = state._replace(spread=state.spread.after(gradient))
        scales, size = state.spread.scales()

        def log_density(scaled: Tensor) -> tuple[Tensor, Tensor]:
            at_end, value_at_end = grad_and_value(problem.log_posterior)(scaled / scales, batch)
            return at_end / scales, value_at_end

        limit = self.turn * (problem.dim - 1) / size.clamp(min=1e-30)
        tuning = state.tuning._replace(step=torch.minimum(state.tuning.step, limit))
        chain = Chain(scales * state.weights, state.velocity, gradient / scales, value)
        length = torch.full_like(value, max(math.sqrt(problem.dim), LEAST_LENGTH))
        chain, error, finite = stepped(log_density, chain, tuning.step, length, noise)
        if step.phase == "tune":
            tuning = tuning.after(error, finite, problem.dim, torch.full_like(error, ERROR))
        weights = chain.weights / scales
        kept = state.kept.add(weights) if step.phase == "keep" else state.kept
        state = state._replace(weights=weights, velocity=chain.velocity, tuning=tuning, kept=kept)
        return state, {"objective": -value}

    def finish(self, problem: Problem, state: SMILEState) -> Tensor:
        return state.kept.draws
