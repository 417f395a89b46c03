"""SWA, SWAG-Diagonal and SWAG: the average of SGD iterates, and a Gaussian fitted to them.

Iterates theta_1 .. theta_T are collected once per epoch along the trajectory of `methods.training.sgd`, or more often
if training is too short for K of them. The method `sgd` predicts with the last iterate. With m_t the running mean of
the iterates, let

    theta_SWA = m_T,      var = 1/T sum_t theta_t^2 - theta_SWA^2,      D = columns theta_t - m_t of the last K.

The other three methods predict with

    SWA     theta_SWA (Izmailov et al. 2018, Algorithm 1, with a constant learning rate)
    SWAG-D  N(theta_SWA, diag(var)) (Maddox et al. 2019, section 3.2)
    SWAG    N(theta_SWA, diag(var) / 2 + D D^T / (2 (K - 1))) (Maddox et al. 2019, section 3.3 and Algorithm 1)

K is 20, or the number of collected iterates if that is smaller. The variance is accumulated in centred form, because
in single precision rounding would dominate the difference of the two averages. Variances are clamped at 1e-30, as in
the authors' code.
"""

from typing import NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import Batch, LowRankNormal, Method, Noise, Plan, Problem, Step, Task
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.training import sgd

MIN_VARIANCE = 1e-30
RANK = 20
DECAY_START, DECAY_END = 0.5, 0.9  # shares of the burn-in between which the learning rate moves, in both papers' code


class Collected(NamedTuple):
    """Statistics of the collected iterates.

    Attributes:
        n_seen: (), T, the number of collected iterates.
        mean: (D,), mean of these iterates.
        variance: (D,), variance of these iterates.
        deviations: K tensors (D,), theta_t - m_t of the last K iterates, the newest last; zeros until there are K.
            They are separate, so that adding one does not copy all.
    """

    n_seen: Tensor
    mean: Tensor
    variance: Tensor
    deviations: tuple[Tensor, ...]

    @classmethod
    def init(cls, weights: Tensor, rank: int) -> "Collected":
        """Return the statistics before the first iterate.

        Args:
            weights: (D,), any weights of the network, for the data type and device.
            rank: K, which may be 0.
        """
        zeros = torch.zeros_like(weights)
        return cls(zeros.sum(), zeros, zeros, (zeros,) * rank)

    def add(self, weights: Tensor) -> "Collected":
        """Return the statistics with one more iterate (D,)."""
        n_seen = self.n_seen + 1
        change = weights - self.mean
        mean = self.mean + change / n_seen
        deviation = weights - mean
        variance = self.variance + (change * deviation - self.variance) / n_seen
        return Collected(n_seen, mean, variance, (*self.deviations, deviation)[1:])

    def normal(self, scale: float) -> LowRankNormal:
        """Return the Gaussian N(mean, scale (diag(variance) + D D^T / (K - 1))), where D holds the K `deviations`."""
        rank = self.n_seen.clamp(max=len(self.deviations))
        rows = torch.cat([self.mean[None][:0], *(deviation[None] for deviation in self.deviations)])
        factors = rows * (scale / (rank - 1).clamp(min=1)).sqrt()
        return LowRankNormal(self.mean, factors, scale * self.variance.clamp(min=MIN_VARIANCE))


class Collection(NamedTuple):
    """Phase of an update, from which `update` knows whether to collect its iterate.

    Attributes:
        takes_iterate: whether the iterate after the update is collected.
        burn_in: number of updates of the burn-in, in which no iterate is collected.
    """

    takes_iterate: bool
    burn_in: int


class SWAGState(NamedTuple):
    """State of SGD and of the statistics of its iterates.

    Attributes:
        trajectory: state of SGD.
        collected: statistics of its collected iterates.
    """

    trajectory: sgd.Trajectory
    collected: Collected


class IterateStatistics(Method):
    """Base of methods that average SGD iterates or fit a Gaussian to them.

    Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's.

    Args:
        burn_in: fraction of training during which no iterate is collected.
        late_rate: learning rate after the burn-in, as a multiple of `lr`; during the burn-in the rate moves to it
            linearly.
    """

    constant_rate = True
    rank = 0

    def __init__(self, burn_in: float = 0.5, late_rate: float = 1.0):
        self.burn_in = burn_in
        self.late_rate = late_rate

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.search_space(task)

    def wide_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.wide_space(task)

    def image_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.image_space(task)

    def phase(self, update: int, plan: Plan) -> Collection:
        """Return the phase of an update, which says whether its iterate is collected.

        After the burn-in, an iterate is collected once per epoch, or more often if K iterates would not be reached.
        """
        burn_in = sgd.burn_in(plan, self.burn_in)
        often_enough = (plan.n_updates - burn_in) // max(RANK, self.rank)
        since, every = update - burn_in, max(1, min(round(plan.updates_per_epoch), often_enough))
        return Collection(since > 0 and since % every == 0, burn_in)

    def init(self, problem: Problem, noise: Noise) -> SWAGState:
        trajectory = sgd.Trajectory.init(problem, noise)
        return SWAGState(trajectory, Collected.init(trajectory.weights, self.rank))

    def update(
        self, problem: Problem, state: SWAGState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[SWAGState, dict[str, Tensor]]:
        phase = cast(Collection, step.phase)
        trajectory, reported = state.trajectory.step(problem, batch, step, self.rate(problem, step))
        collected = state.collected.add(trajectory.weights) if phase.takes_iterate else state.collected
        return SWAGState(trajectory, collected), reported

    def rate(self, problem: Problem, step: Step) -> Tensor:
        """Return the learning rate of an update, ()."""
        if self.late_rate == 1:
            return problem.hparams.lr
        moved = step.count / max(1, cast(Collection, step.phase).burn_in) - DECAY_START
        return problem.hparams.lr * (1 + (self.late_rate - 1) * (moved / (DECAY_END - DECAY_START)).clamp(0, 1))


@catalogued("sgd")
class LastIterate(IterateStatistics):
    """SGD with momentum, which predicts with its last iterate."""

    constant_rate = False

    def finish(self, problem: Problem, state: SWAGState) -> Tensor:
        return state.trajectory.weights

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return posterior[None]


@catalogued("swa")
class SWA(IterateStatistics):
    """Stochastic weight averaging: predicts with the average of SGD iterates."""

    def finish(self, problem: Problem, state: SWAGState) -> Tensor:
        return state.collected.mean

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        return posterior[None]


@catalogued("swag")
class SWAG(IterateStatistics):
    """SWAG: a Gaussian with SWA's mean, half the iterates' variances, and half the low-rank covariance of the last K.

    Args:
        burn_in, late_rate: see `IterateStatistics`.
        rank: K, or 0 for a diagonal covariance.
        scale: factor of the variances and of the low-rank covariance; 1/2 in SWAG.
    """

    def __init__(self, burn_in: float = 0.5, late_rate: float = 1.0, rank: int = RANK, scale: float = 0.5):
        super().__init__(burn_in, late_rate)
        self.rank = rank
        self.scale = scale

    def finish(self, problem: Problem, state: SWAGState) -> LowRankNormal:
        return state.collected.normal(self.scale)

    def sample(self, problem: Problem, posterior: LowRankNormal, noise: Noise, n_samples: int) -> Tensor:
        return posterior.sample(noise, n_samples)
