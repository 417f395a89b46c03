"""MILE, microcanonical Langevin ensembles: a chain of MCLMC from each network of a deep ensemble (Sommer et al. 2025).

Each member is trained by Adam on the mean NLL of 85 % of its training rows, until the NLL of the other 15 % has not
fallen for 20 updates. From the best weights a chain starts, which draws from

    p(theta | D)  proportional to  p(D | theta) N(theta; 0, I / alpha)

with all training rows in every gradient. The first 90 % of warm-up tune the step length: the target of the energy
error's variance falls from 0.5 to 0.1 per weight. At their end, the length over which the velocity forgets its
direction is set to the spread of the weights in the last ninth of these steps. The last 10 % of warm-up set it to 0.4
times the distance that the chain travels in an autocorrelation time. Draws of all chains are pooled.
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
from lockstep_bench.methods.mcmc.draws import autocorrelation_times, started_draws, with_draw
from lockstep_bench.methods.mcmc.mclmc import Chain, Tuning, started, stepped
from lockstep_bench.methods.training.chains import FullBatchChains

HELD_OUT, PATIENCE, WEIGHT_DECAY = 0.15, 20, 1e-4
LEAST_LENGTH = 15.0
TRAVELLED = 0.4  # of the way of an autocorrelation time
WINDOW = 20  # most draws by which that time is estimated


class MILEState(NamedTuple):
    """State of a member, which is a network first trained by Adam and then moved by a chain.

    Attributes:
        optim: optimiser of the weights.
        best: (D,), the weights with the lowest NLL of the held-out rows.
        best_nll: (), that lowest NLL.
        waited: (), number of updates since then.
        chain: state of the chain. During the updates of Adam, its weights are those that Adam trains.
        tuning: state of the step-length tuning.
        length: (), distance over which the velocity forgets its direction.
        spread: (3, D), weighted sums of 1, theta and theta^2, for the spread of the weights in warm-up.
        window: (W, D), draws at the end of warm-up.
        draws: (K, D), draws of the posterior.
        log_posteriors: (K,), log posterior at the draws, up to a constant.
        energy: (2,), number of steps after warm-up, and the sum of their squared energy errors per weight.
    """

    optim: Adam
    best: Tensor
    best_nll: Tensor
    waited: Tensor
    chain: Chain
    tuning: Tuning
    length: Tensor
    spread: Tensor
    window: Tensor
    draws: Tensor
    log_posteriors: Tensor
    energy: Tensor


class MILEPosterior(NamedTuple):
    """Draws of one chain, and how it was tuned.

    Attributes:
        draws: (K, D), weights.
        log_posteriors: (K,), log posterior at the draws, up to a constant.
        step: (), the step length.
        length: (), distance over which the velocity forgets its direction.
        energy_variance: (), mean squared energy error per weight of a step after warm-up.
    """

    draws: Tensor
    log_posteriors: Tensor
    step: Tensor
    length: Tensor
    energy_variance: Tensor


class Phase(NamedTuple):
    """Phase of an update: its stage, and when the stage begins and ends.

    Attributes:
        stage: "train" for an update of Adam; "start", which starts the chain; "tune", which tunes the step length;
            "wait", which gathers draws to tune the length; "step"; "keep", a step whose end is kept as a draw.
        first: number of the stage's first update.
        middle: number of the warm-up update after which the spread of the weights is measured.
        last: number of the stage's last update.
    """

    stage: str
    first: int
    middle: int
    last: int


@catalogued("mile")
class MILE(FullBatchChains):
    """Microcanonical Langevin ensembles. Hyper-parameters: `prior_precision` (alpha), `lr` and the likelihood's.

    Protocols of fewer than 100 epochs shorten all stages in proportion.

    Args:
        chains: number of chains.
        training: largest number of updates of Adam.
        warmup: number of steps of a chain before its draws.
        draws: number of draws per chain.
        thinning: number of steps of a chain per draw.
        first_error: target of the energy error's variance per weight, at the start of warm-up.
        last_error: the same target at the end of warm-up. Smaller ones make draws less biased and chains slower.
    """

    def __init__(
        self,
        chains: int = 4,
        training: int = 1200,
        warmup: int = 5000,
        draws: int = 250,
        thinning: int = 40,
        first_error: float = 0.5,
        last_error: float = 0.1,
    ):
        self.members = chains
        self.training, self.warmup, self.draws, self.thinning = training, warmup, draws, thinning
        self.first_error, self.last_error = first_error, last_error
        self.whole = training + 1 + warmup + draws * thinning

    def proxy(self) -> "MILE":
        fewer = -(-self.draws // 2), -(-self.thinning // 4)
        return MILE(1, self.training, self.warmup // 5, *fewer, self.first_error, self.last_error)

    def phase(self, update: int, plan: Plan) -> Phase:
        share = plan.n_updates / self.whole
        trained = max(1, round(share * self.training))
        waits = max(4, int(0.1 * share * self.warmup))  # an autocorrelation takes a few draws
        tuned = trained + 1 + max(2, round(0.9 * share * self.warmup))
        middle, warmed = tuned - max(1, int(0.1 * share * self.warmup)), tuned + waits
        if update <= trained:
            return Phase("train", 1, 0, trained)
        if update == trained + 1:
            return Phase("start", update, 0, update)
        if update <= tuned:
            return Phase("tune", trained + 2, middle + 1, tuned)
        if update <= warmed:
            return Phase("wait", tuned + 1, 0, warmed)
        every = max(1, (plan.n_updates - warmed) // self.draws)
        keeps = (plan.n_updates - update) % every == 0
        return Phase("keep" if keeps else "step", warmed + 1, 0, plan.n_updates)

    def init(self, problem: Problem, noise: Noise) -> MILEState:
        weights = problem.initial_weights(noise)
        zero = weights.new_zeros(())
        return MILEState(
            optim=Adam.init(weights),
            best=weights,
            best_nll=zero + math.inf,
            waited=zero,
            chain=Chain(weights, torch.zeros_like(weights), torch.zeros_like(weights), zero),
            tuning=Tuning.init(problem.hparams.lr),
            length=zero + max(math.sqrt(problem.dim), LEAST_LENGTH),
            spread=weights.new_zeros(3, problem.dim),
            window=weights.new_zeros(min(WINDOW, max(4, self.warmup // 10)), problem.dim),
            draws=weights.new_zeros(self.draws, problem.dim),
            log_posteriors=weights.new_zeros(self.draws),
            energy=weights.new_zeros(2),
        )

    def update(self, problem: Problem, state: MILEState, batch: Batch, noise: Noise, step: Step) -> MILEState:
        phase = step.phase
        assert isinstance(phase, Phase)
        if phase.stage == "train":
            return _trained(problem, state, batch, step)

        def log_density(weights: Tensor) -> tuple[Tensor, Tensor]:
            return grad_and_value(problem.log_posterior)(weights, batch)

        if phase.stage == "start":
            chain = started(log_density, state.best, noise)
            draws, log_posteriors = (started_draws(each, self.draws) for each in (chain.weights, chain.log_density))
            return state._replace(chain=chain, draws=draws, log_posteriors=log_posteriors)
        if phase.stage == "wait":  # the spread of the weights is known
            state = state._replace(length=torch.where(step.count == phase.first, _length(state.spread), state.length))
        chain, error, finite = stepped(log_density, state.chain, state.tuning.step, state.length, noise)
        state = state._replace(chain=chain)
        if phase.stage == "tune":
            done = (step.count - phase.first) / (phase.last - phase.first + 2)
            wanted = self.first_error + (self.last_error - self.first_error) * done
            return _tuned(state, error, finite, wanted, step.count >= phase.middle)
        if phase.stage == "wait":
            return _waited(state, step.count, phase)
        energy = state.energy + torch.stack([torch.ones_like(error), error.square() / problem.dim])
        if phase.stage == "step":
            return state._replace(energy=energy)
        draws = with_draw(state.draws, chain.weights)
        log_posteriors = with_draw(state.log_posteriors, chain.log_density)
        return state._replace(energy=energy, draws=draws, log_posteriors=log_posteriors)

    def finish(self, problem: Problem, state: MILEState) -> MILEPosterior:
        n_steps, squares = state.energy
        variance = squares / n_steps.clamp(min=1)
        return MILEPosterior(state.draws, state.log_posteriors, state.tuning.step, state.length, variance)


def _trained(problem: Problem, state: MILEState, batch: Batch, step: Step) -> MILEState:
    """Return the state after an update of Adam with weight decay, unless the member has stopped."""
    x, y = batch.x.flatten(0, 1), batch.y.flatten()
    n_held_out = (HELD_OUT * problem.n_train).ceil()
    places = torch.arange(len(y), device=y.device)
    held_out = ((places >= problem.n_train - n_held_out) & (places < problem.n_train)).to(y)
    used = (places < problem.n_train - n_held_out).to(y)

    def nll(weights: Tensor) -> Tensor:
        return (used * problem.nll_of_outputs(problem.network(weights, x), y)).sum() / used.sum()

    weights = state.chain.weights
    moved, optim = state.optim.step(weights, grad_and_value(nll)(weights)[0], problem.hparams.lr, step)
    moved = moved - problem.hparams.lr * WEIGHT_DECAY * weights
    outputs = problem.network(moved, x)
    score = (held_out * problem.nll_of_outputs(outputs, y)).sum() / held_out.sum()
    active = state.waited < PATIENCE
    better = active & (score < state.best_nll)
    return state._replace(
        optim=optim,
        best=torch.where(better, moved, state.best),
        best_nll=torch.where(better, score, state.best_nll),
        waited=torch.where(better, torch.zeros_like(score), state.waited + 1),
        chain=state.chain._replace(weights=moved),
    )


def _tuned(state: MILEState, error: Tensor, finite: Tensor, wanted: Tensor, measured: Tensor) -> MILEState:
    """Return the state with the next step length; if `measured`, the weights are added to the sums for `spread`."""
    weights = state.chain.weights
    counted = torch.where(finite & measured, state.tuning.step, torch.zeros_like(wanted))
    spread = state.spread + counted * torch.stack([torch.ones_like(weights), weights, weights.square()])
    return state._replace(tuning=state.tuning.after(error, finite, len(weights), wanted), spread=spread)


def _length(spread: Tensor) -> Tensor:
    """Return the root of the summed variances of the weights."""
    mean, square = spread[1:] / spread[0].clamp(min=1e-30)
    variance: Tensor = square - mean.square()
    return variance.clamp(min=0).sum().sqrt()


def _waited(state: MILEState, count: Tensor, phase: Phase) -> MILEState:
    """Return the state with one more draw in the window; at the end of the stage, also with `length` set from them."""
    every = max(1, (phase.last - phase.first + 1) // len(state.window))
    taken = torch.remainder(phase.last - count, every) == 0
    window = torch.where(taken, with_draw(state.window, state.chain.weights), state.window)
    length = TRAVELLED * state.tuning.step * every * autocorrelation_times(window).mean()
    return state._replace(window=window, length=torch.where(count == phase.last, length, state.length))
