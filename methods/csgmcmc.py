"""Cyclical SG-MCMC: cycles of SGD that finds a mode, then of SGHMC or SGLD that samples it (Zhang et al. 2020).

The posterior is proportional to exp(-N s u), with the objective u and the scale s of `methods.training.chains`. An
update is

    v <- (1 - a) v - h grad u + N(0, 2 a h / (N s)),      theta <- theta + v,

SGHMC with the friction a = 0.1 (cSGHMC); with a = 1 it is SGLD (cSGLD). Update k of T, in M cycles, has the step

    h = lr / 2 (cos(pi r) + 1),      r = mod(k - 1, ceil(T / M)) / ceil(T / M)

(their eq. 1). While r < beta there is no noise (their Algorithm 1). Draws are kept at equal distances in the rest of
each cycle. The objective is not recorded: it falls to the end of every cycle, converged or not.
"""

import math
from typing import NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import Batch, LogUniform, Noise, Plan, Problem, Step, Task, clip_norm
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.mcmc.draws import Kept
from lockstep_bench.methods.training.chains import MinibatchChains, ends_a_part, gradient_and_objective
from lockstep_bench.methods.training.sgd import MAX_GRADIENT_NORM


class Cyclical(NamedTuple):
    """State of a cyclical SG-MCMC chain.

    Attributes:
        weights: (D,), current weights.
        velocity: (D,), change of the weights in the last update.
        kept: draws of the posterior.
    """

    weights: Tensor
    velocity: Tensor
    kept: Kept


class Stage(NamedTuple):
    """Phase of an update: its part in a cycle.

    Attributes:
        samples: whether the update adds noise.
        keeps: whether a draw is kept after the update.
        cycle: number of updates of a cycle.
    """

    samples: bool
    keeps: bool
    cycle: int


@catalogued("csgmcmc")
class CyclicalSGMCMC(MinibatchChains):
    """Cyclical SGHMC. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Gradients are clipped to norm 10, so that chains stay finite if the step is too large. Where gradients are clipped,
    the chain samples a distribution that is wider than the posterior.

    Args:
        chains, passes, draws: see `methods.training.chains.MinibatchChains`.
        cycles: M, number of cycles of each chain.
        exploration: beta, the fraction of a cycle without noise.
        friction: a, the fraction of its velocity that a chain loses at each update; 1 for SGLD.
    """

    def __init__(
        self,
        chains: int = 4,
        passes: int = 1000,
        draws: int = 100,
        cycles: int = 4,
        exploration: float = 0.8,
        friction: float = 0.1,
    ):
        super().__init__(chains, passes, draws)
        self.cycles, self.exploration, self.friction = cycles, exploration, friction

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(0.01 * self.friction, self.friction),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def phase(self, update: int, plan: Plan) -> Stage:
        cycle = math.ceil(plan.n_updates / self.cycles)
        number, done = divmod(update - 1, cycle)
        explored = min(math.ceil(self.exploration * cycle), cycle - 1)
        if done < explored:
            return Stage(False, False, cycle)
        end = min(cycle, plan.n_updates - number * cycle)  # the last cycle may be shorter
        before, after = ((place - explored) / (end - explored) for place in (done, done + 1))
        return Stage(True, ends_a_part(before, after, max(1, self.draws // self.cycles)), cycle)

    def init(self, problem: Problem, noise: Noise) -> Cyclical:
        weights = problem.initial_weights(noise)
        return Cyclical(weights, torch.zeros_like(weights), Kept.init(weights, self.draws))

    def update(self, problem: Problem, state: Cyclical, batch: Batch, noise: Noise, step: Step) -> Cyclical:
        stage = cast(Stage, step.phase)
        done = torch.remainder(step.count - 1, stage.cycle) / stage.cycle
        rate = 0.5 * problem.hparams.lr * (torch.cos(math.pi * done) + 1)
        gradient, _ = gradient_and_objective(problem, state.weights, batch)
        velocity = (1 - self.friction) * state.velocity - rate * clip_norm(gradient, MAX_GRADIENT_NORM)
        if stage.samples:
            variance = 2 * self.friction * rate / (problem.n_train * problem.scale)
            velocity = velocity + variance.sqrt() * noise.normal(problem.dim)
        weights = state.weights + velocity
        kept = state.kept.add(weights) if stage.keeps else state.kept
        return Cyclical(weights, velocity, kept)

    def finish(self, problem: Problem, state: Cyclical) -> Tensor:
        return state.kept.draws
