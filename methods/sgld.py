"""SGLD and pSGLD: Langevin dynamics with minibatch gradients and without an acceptance step.

The posterior is proportional to exp(-N s u), with the objective u and the scale s of `methods.training.chains`. An
update gives

    SGLD     theta - h grad u + N(0, 2 h / (N s))       (Welling and Teh 2011, eq. 4, with epsilon = 2 h / (N s))
    pSGLD    theta - h G grad u + N(0, 2 h G / (N s))   (Li et al. 2016, Algorithm 1)

with G = 1 / (lambda + sqrt(V)) and V <- a V + (1 - a) (grad u)^2, a = 0.99 and lambda = 1e-5. As in the algorithm of Li
et al., the term with the derivative of G is left out. In their algorithm V does not include the gradient of the prior,
and steps under a strong prior diverge.

Step t is h = lr (1 + c (t - 1))^-0.55, where c makes the last step a tenth of the first. The exponent is that of
Welling and Teh's experiments, whose last step is a hundredth of the first. The first half of all updates is the
burn-in. Then draws are kept each time the sum of step lengths has grown by a fixed amount, which weights iterates by
their step length (their eq. 11).
"""

from typing import NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import Batch, LogUniform, Noise, Plan, Problem, Step, Task, clip_norm
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.mcmc.draws import Kept
from lockstep_bench.methods.training.chains import MinibatchChains, ends_a_part, gradient_and_objective
from lockstep_bench.methods.training.sgd import MAX_GRADIENT_NORM

DECAY = 0.55
LEAST_ROOT = 1e-5  # lambda of pSGLD


class SGLDState(NamedTuple):
    """State of an SGLD or pSGLD chain.

    Attributes:
        weights: (D,), current weights.
        square: (D,), V of pSGLD, running mean of the squared gradient; (0,) for SGLD.
        kept: draws of the posterior.
    """

    weights: Tensor
    square: Tensor
    kept: Kept


class Position(NamedTuple):
    """Phase of an update, which `SGLD.update` reads from `step.phase`.

    Attributes:
        keeps: whether a draw is kept after the update.
        growth: c in the step size lr (1 + c (t - 1))^-0.55 of update t.
    """

    keeps: bool
    growth: float


@catalogued("sgld")
class SGLD(MinibatchChains):
    """Stochastic gradient Langevin dynamics. Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Gradients are clipped to norm 10, so that chains stay finite if the step is too large. Where gradients are clipped,
    the chain samples a distribution that is wider than the posterior.

    Args:
        chains, passes, draws: see `methods.training.chains.MinibatchChains`.
        last_step: ratio of the last step length to the first; 1 for a constant step.
        burn_in: fraction of the updates before the first draw.
    """

    def __init__(
        self, chains: int = 4, passes: int = 1000, draws: int = 100, last_step: float = 0.1, burn_in: float = 0.5
    ):
        super().__init__(chains, passes, draws)
        self.last_step, self.burn_in = last_step, burn_in

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-2, 0.3),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def phase(self, update: int, plan: Plan) -> Position:
        growth = (self.last_step ** (-1 / DECAY) - 1) / max(1, plan.n_updates - 1)
        start = int(self.burn_in * plan.n_updates)
        if update <= start:
            return Position(False, growth)

        def moved(number: int) -> float:
            """Return the sum of the steps to an update, up to a factor."""
            return (1 + growth * number) ** (1 - DECAY) if growth else float(number)

        whole = moved(plan.n_updates) - moved(start)
        before, after = ((moved(number) - moved(start)) / whole for number in (update - 1, update))
        return Position(ends_a_part(before, after, self.draws), growth)

    def init(self, problem: Problem, noise: Noise) -> SGLDState:
        weights = problem.initial_weights(noise)
        return SGLDState(weights, weights[:0], Kept.init(weights, self.draws))

    def update(
        self, problem: Problem, state: SGLDState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[SGLDState, dict[str, Tensor]]:
        phase = cast(Position, step.phase)
        rate = problem.hparams.lr * (1 + phase.growth * (step.count - 1)) ** -DECAY
        gradient, objective = gradient_and_objective(problem, state.weights, batch)
        drift, scales, square = self.preconditioned(gradient, state.square)
        variance = 2 * rate * scales / (problem.n_train * problem.scale)
        weights = state.weights - rate * drift + variance.sqrt() * noise.normal(problem.dim)
        kept = state.kept.add(weights) if phase.keeps else state.kept
        return SGLDState(weights, square, kept), {"objective": objective}

    def preconditioned(self, gradient: Tensor, square: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the preconditioned gradient G grad u (D,), the diagonal of G, (D,) or (1,), and the next V."""
        return clip_norm(gradient, MAX_GRADIENT_NORM), torch.ones_like(gradient[:1]), square

    def finish(self, problem: Problem, state: SGLDState) -> Tensor:
        return state.kept.draws


@catalogued("psgld")
class PSGLD(SGLD):
    """Preconditioned SGLD: the step of each weight is scaled by the running root mean square of its gradient.

    The derivative of the preconditioner is left out, so chains sample a distribution that is wider than the posterior.
    The longer the memory, the smaller this error.

    Args:
        chains, passes, draws, last_step, burn_in: see `SGLD`.
        memory: a, the decay factor of the running mean V.
    """

    def __init__(
        self,
        chains: int = 4,
        passes: int = 1000,
        draws: int = 100,
        last_step: float = 0.1,
        burn_in: float = 0.5,
        memory: float = 0.99,
    ):
        super().__init__(chains, passes, draws, last_step, burn_in)
        self.memory = memory

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return super().search_space(task) | {"lr": LogUniform(1e-3, 1e-2)}

    def init(self, problem: Problem, noise: Noise) -> SGLDState:
        state = super().init(problem, noise)
        return state._replace(square=torch.zeros_like(state.weights))

    def preconditioned(self, gradient: Tensor, square: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        square = torch.lerp(square, gradient.square(), 1 - self.memory)
        scales = 1 / (LEAST_ROOT + square.sqrt())
        return scales * gradient, scales, square
