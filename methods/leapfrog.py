"""Hamiltonian Monte Carlo with trajectories of a fixed number of leapfrog steps, many chains side by side.

A trajectory starts from momentum r ~ N(0, I) and makes L leapfrog steps of length epsilon on the energy

    H(theta, r) = -log p(theta | D) + |r|^2 / 2,

each with one gradient of all training rows. Its end is accepted with probability min(1, exp(H(start) - H(end))), so
draws follow the exact posterior for any step length (Neal 2011). Warm-up tunes epsilon to an acceptance of 0.8 by dual
averaging (Hoffman and Gelman 2014). Afterwards every trajectory has a length drawn from U(0.8, 1.2) epsilon L, so that
none is a whole period of the posterior.

Unlike in NUTS, all trajectories have the same number of steps. Chains therefore advance in lockstep, and no chain waits
for a longer one. Each chain starts from the posterior's mode that Adam has found from random weights.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lockstep_bench.methods.api import (
    Adam,
    Batch,
    Noise,
    Plan,
    Problem,
    Step,
    grad_and_value,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.mcmc.draws import started_draws, with_draw
from lockstep_bench.methods.training.chains import FullBatchChains

ACCEPTANCE = 0.8
SHRINKAGE, DELAY, FORGETTING = 0.05, 10, 0.75  # gamma, t0 and kappa of dual averaging
FIRST_STEP = 1e-3
JITTER = 0.2


class StepLength(NamedTuple):
    """State of dual averaging, which tunes the logarithm of the step length.

    Attributes:
        log_step: (), logarithm of the step length of the next trajectory.
        average: (), weighted average of `log_step`; after warm-up, its exponential is the step length.
        excess: (), running mean of the target acceptance minus the trajectories' acceptance.
        tuned: (), number of warm-up trajectories so far.
    """

    log_step: Tensor
    average: Tensor
    excess: Tensor
    tuned: Tensor

    def after(self, acceptance: Tensor) -> "StepLength":
        """Return the state after one more warm-up trajectory, whose acceptance probability was `acceptance` ()."""
        count = self.tuned + 1
        rate = 1 / (count + DELAY)
        excess = (1 - rate) * self.excess + rate * (ACCEPTANCE - acceptance)
        log_step = math.log(10 * FIRST_STEP) - count.sqrt() / SHRINKAGE * excess
        weight = count**-FORGETTING
        return StepLength(log_step, weight * log_step + (1 - weight) * self.average, excess, count)


class Place(NamedTuple):
    """A point on a trajectory: weights (D,), and the gradient (D,) and value () of the log posterior there."""

    weights: Tensor
    gradient: Tensor
    log_posterior: Tensor


class LeapfrogState(NamedTuple):
    """State of an HMC chain, in the middle of a trajectory.

    Attributes:
        optim: optimiser that finds the mode before the chain starts.
        place: the end of the trajectory so far.
        momentum: (D,), momentum at `place`.
        start: start of the trajectory.
        energy: (), Hamiltonian H at `place`.
        step: (), length of the trajectory's steps.
        length: state of the step-length tuning.
        draws: (K, D), weights kept so far.
        log_posteriors: (K,), log posterior at the draws, up to a constant.
        accepted: (2,), number of trajectories after warm-up, and the sum of their acceptance probabilities.
    """

    optim: Adam
    place: Place
    momentum: Tensor
    start: Place
    energy: Tensor
    step: Tensor
    length: StepLength
    draws: Tensor
    log_posteriors: Tensor
    accepted: Tensor


class LeapfrogPosterior(NamedTuple):
    """Draws of a chain.

    Attributes:
        draws: (K, D), weights.
        log_posteriors: (K,), log posterior at the draws, up to a constant.
        step: (), the step length.
        acceptance: (), mean acceptance probability of the trajectories after warm-up.
    """

    draws: Tensor
    log_posteriors: Tensor
    step: Tensor
    acceptance: Tensor


@catalogued("hmc-leapfrog")
class Leapfrog(FullBatchChains):
    """HMC with fixed trajectories. Hyper-parameters: `prior_precision` (alpha), `lr` of Adam and the likelihood's.

    Protocols of fewer than 100 epochs shorten all stages in proportion.

    Args:
        chains: number of chains.
        training: number of updates of Adam before the chain.
        warmup: number of trajectories that tune the step length.
        draws: number of draws per chain, one after each further trajectory.
        steps: L, leapfrog steps of a trajectory.
    """

    def __init__(self, chains: int = 4, training: int = 1200, warmup: int = 100, draws: int = 200, steps: int = 64):
        self.members = chains
        self.training, self.warmup, self.draws, self.steps = training, warmup, draws, steps
        self.whole = training + 1 + (warmup + draws) * steps

    def proxy(self) -> "Leapfrog":
        return Leapfrog(1, self.training, -(-self.warmup // 2), -(-self.draws // 4), -(-self.steps // 2))

    def phase(self, update: int, plan: Plan) -> str:
        """Return the kind of an update.

        "train" is an update of Adam and "start" begins the chain. "leap" is a leapfrog step, except for the last step
        of a trajectory: "tune" during warm-up, "keep" afterwards.
        """
        share = plan.n_updates / self.whole
        trained = max(1, round(share * self.training))
        if update <= trained:
            return "train"
        if update == trained + 1:
            return "start"
        after, left = update - trained - 1, plan.n_updates - trained - 1
        steps = max(1, min(self.steps, left // (self.warmup + self.draws)))
        first = left % steps  # a shorter trajectory at the beginning
        if (after - first) % steps:
            return "leap"
        return "tune" if after - first <= self.warmup / (self.warmup + self.draws) * left else "keep"

    def init(self, problem: Problem, noise: Noise) -> LeapfrogState:
        weights = problem.initial_weights(noise)
        zero, nowhere = weights.new_zeros(()), torch.zeros_like(weights)
        log_step = zero + math.log(FIRST_STEP)
        place = Place(weights, nowhere, zero)
        return LeapfrogState(
            optim=Adam.init(weights),
            place=place,
            momentum=nowhere,
            start=place,
            energy=zero,
            step=log_step.exp(),
            length=StepLength(log_step, log_step, zero, zero),
            draws=weights.new_zeros(self.draws, problem.dim),
            log_posteriors=weights.new_zeros(self.draws),
            accepted=weights.new_zeros(2),
        )

    def update(self, problem: Problem, state: LeapfrogState, batch: Batch, noise: Noise, step: Step) -> LeapfrogState:
        def place_at(weights: Tensor) -> Place:
            return Place(weights, *grad_and_value(problem.log_posterior)(weights, batch))

        if step.phase == "train":
            place = place_at(state.place.weights)
            weights, optim = state.optim.step(place.weights, -place.gradient, problem.hparams.lr, step)
            return state._replace(optim=optim, place=place._replace(weights=weights))
        if step.phase == "start":
            place = place_at(state.place.weights)
            draws = started_draws(place.weights, self.draws)
            state = state._replace(draws=draws, log_posteriors=started_draws(place.log_posterior, self.draws))
            return _thrown(state, place, state.step, noise)
        momentum = state.momentum + 0.5 * state.step * state.place.gradient
        place = place_at(state.place.weights + state.step * momentum)
        momentum = momentum + 0.5 * state.step * place.gradient
        if step.phase == "leap":
            return state._replace(place=place, momentum=momentum)
        acceptance = torch.exp((state.energy - _energy(place, momentum)).clamp(max=0)).nan_to_num(0.0)
        taken = noise.uniform(1)[0] < acceptance
        place = Place(*(torch.where(taken, end, start) for end, start in zip(place, state.start, strict=True)))
        if step.phase == "tune":
            length = state.length.after(acceptance)
            return _thrown(state._replace(length=length), place, length.log_step.exp(), noise)
        state = state._replace(
            draws=with_draw(state.draws, place.weights),
            log_posteriors=with_draw(state.log_posteriors, place.log_posterior),
            accepted=state.accepted + torch.stack([torch.ones_like(acceptance), acceptance]),
        )
        jitter = 1 + JITTER * (2 * noise.uniform(1)[0] - 1)
        return _thrown(state, place, state.length.average.exp() * jitter, noise)

    def finish(self, problem: Problem, state: LeapfrogState) -> LeapfrogPosterior:
        count, accepted = state.accepted
        step = state.length.average.exp()
        return LeapfrogPosterior(state.draws, state.log_posteriors, step, accepted / count.clamp(min=1))


def _energy(place: Place, momentum: Tensor) -> Tensor:
    return 0.5 * momentum.square().sum() - place.log_posterior


def _thrown(state: LeapfrogState, place: Place, step: Tensor, noise: Noise) -> LeapfrogState:
    """Return the state at the start of a trajectory from `place`, with a random momentum."""
    momentum = noise.normal(len(place.weights))
    return state._replace(place=place, start=place, momentum=momentum, step=step, energy=_energy(place, momentum))
