"""Online factor analysis of SGD iterates: SWAG's idea with every iterate in the covariance, and none of them stored.

After `methods.sgd`'s burn-in, each iterate of its trajectory goes to an estimator of `methods.factor_analysis`, and
the posterior is what that has fitted, N(c, F F^T + diag(psi)), at full scale (Brownlie 2022, chapter 4). SWAG is the
special case F = D / sqrt(2 (K - 1)), psi = var / 2 (section 3.2 of the thesis).

The estimators start at psi = 1 and orthonormal F, where the variances of SGD iterates may be 1e-6. Their first
averages would then remember latent factors of a scale that F soon leaves, and gradient steps would never arrive. So
they are given (theta - o) / s, with o and s the running mean and standard deviation of each weight at the end of the
burn-in, and their result is scaled back: factor analysis is equivariant under both. The first iterates update
averages only, `WARM_UP` of them or half of all where that is less.
"""

from typing import ClassVar, NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from methods import sgd
from methods.base import Method, Paper, Plan
from methods.factor_analysis import WARM_UP, ExpectationMaximisation, GradientAscent
from methods.gaussian import LowRankNormal
from methods.problem import Problem, Task

MEMORY = 100  # iterates that the running mean and variance look back on
MIN_VARIANCE = 1e-12  # of weights of about 1, single precision cannot tell a smaller movement from rounding


class Frame(NamedTuple):
    """Where a trajectory is and how far it moves, with exponentially fading memory.

    Attributes:
        origin: (D,), running mean.
        variance: (D,), running variance about it.
    """

    origin: Tensor
    variance: Tensor

    def follow(self, weights: Tensor) -> "Frame":
        """After one more iterate (D,)."""
        change = weights - self.origin
        return Frame(self.origin + change / MEMORY, (1 - 1 / MEMORY) * (self.variance + change**2 / MEMORY))

    def scale(self) -> Tensor:
        """(D,), positive."""
        return (self.variance + MIN_VARIANCE).sqrt()

    def restore(self, normal: LowRankNormal) -> LowRankNormal:
        """The distribution of theta, from that of (theta - origin) / scale."""
        scale = self.scale()
        return LowRankNormal(self.origin + scale * normal.mean, scale * normal.factors, scale**2 * normal.variance)


class State(NamedTuple):
    """Attributes:
    trajectory: of SGD.
    frame: in which the estimator sees the iterates; fixed after the burn-in.
    estimator: fitted to the iterates since then.
    """

    trajectory: sgd.Trajectory
    frame: Frame
    estimator: ExpectationMaximisation | GradientAscent


class OnlineEM(Method):
    """Online EM for factor analysis. Hyper-parameters: `lr` of SGD, `prior_precision` (alpha) and the likelihood's.

    Args:
        latent_dim: K, columns of F. The thesis fits no network this way; its K = 10 is that of its streams of
            dimension 100 and 1000, between which lie the networks of the UCI suite.
    """

    name = "online-em-fa"
    title = "Online EM factor analysis"
    paper = Paper("Brownlie 2022", "Scalable Factor Analysis Algorithms for Neural Network Posterior Estimation")

    estimator: ClassVar = ExpectationMaximisation

    def __init__(self, latent_dim: int = 10):
        self.latent_dim = latent_dim

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.search_space(task)

    def wide_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.wide_space(task)

    def phase(self, update: int, plan: Plan) -> str:
        """What becomes of the update's iterate."""
        burn_in = sgd.burn_in(plan)
        warm_up = min(WARM_UP, (plan.n_updates - burn_in) // 2)
        if update <= burn_in:
            return "follow"
        return "average" if update <= burn_in + warm_up else "learn"

    def init(self, problem: Problem, hparams, noise) -> State:
        trajectory = sgd.Trajectory.init(problem, noise)
        frame = Frame(trajectory.weights, torch.zeros_like(trajectory.weights))
        k = min(self.latent_dim, problem.dim)
        return State(trajectory, frame, self.estimator.init(problem.dim, k, noise))

    def update(self, problem: Problem, state: State, batch, hparams, noise, t) -> State:
        trajectory, frame, estimator = state.trajectory.step(problem, batch, hparams, t), state.frame, state.estimator
        if t.phase == "follow":
            return State(trajectory, frame.follow(trajectory.weights), estimator)
        seen = (trajectory.weights - frame.origin) / frame.scale()
        return State(trajectory, frame, estimator.update(seen, learn=t.phase == "learn"))

    def finish(self, problem: Problem, state: State, hparams) -> LowRankNormal:
        return state.frame.restore(state.estimator.normal())

    def sample(self, problem: Problem, posterior: LowRankNormal, noise, n_samples: int) -> Tensor:
        return posterior.sample(noise, n_samples)


class OnlineSGA(OnlineEM):
    """The same by stochastic gradient ascent, which the thesis found the weaker of the two throughout."""

    name = "online-sga-fa"
    title = "Online SGA factor analysis"

    estimator = GradientAscent
