"""VIFA: variational inference with a factor-analysis posterior.

q(theta) = N(c, F F^T + diag(psi)), psi = exp(gamma), minimises the negative ELBO

    -H[q] - E_q[log p(theta)] - E_q[log p(D | theta)],      p(theta) = N(0, I / alpha),

whose first two terms have closed gradients and whose last is estimated from L reparameterised samples per update,
each with a minibatch of its own (Brownlie 2022, section 5.1 and Algorithm 4).

From a random start this does not learn a deep network. There it has two stages (VIFA paper, section 4.3): first c is
trained alone, from the network's own initial weights, while F and psi stay as they are, below 1e-5; then they join in,
with learning rates that grow from zero to that of c, linearly as we read it. The first stage takes 2 of 10 epochs. The
paper's decay of c's learning rate, of which it says no more, is left out. From trained weights L is 12, as there.
"""

from copy import copy
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import vmap

from methods.base import Method, Paper, Plan
from methods.maths.gaussian import LowRankNormal
from methods.maths.gradients import grad
from methods.maths.search_spaces import LogUniform, OneOf
from methods.networks.mlp import Network
from methods.problem import Batch, Problem, Step, Task
from methods.training.optim import SGD, Adam, clip_norm

MAX_GRADIENT_NORM = 10.0  # of the gradients of c, F and gamma apart
FIRST_STAGE = 2 / 10  # of training
PRETRAINED_SAMPLES = 12  # L, for networks that start from trained weights
SMALL = 1e-6  # what psi is in the first stage, and the root mean square of the entries of F
AT_ONCE = (
    100_000  # weights, of the largest network whose L samples are trained side by side; up to it that is no slower
)


class State(NamedTuple):
    """Attributes:
    params: (K + 2, D): the mean c, the K columns of F, the log variances gamma.
    optim: of all of them.
    """

    params: Tensor
    optim: Adam | SGD


class Stage(NamedTuple):
    """The phase of an update in training of two stages.

    Attributes:
        second: whether F and psi are trained too.
        first_updates, second_updates: in each stage.
    """

    second: bool
    first_updates: int
    second_updates: int


class Expected(NamedTuple):
    """Averages over the L samples theta = c + F h + sqrt(psi) z of what the NLL's gradient g there is multiplied by.

    Attributes:
        gradient: (D,), of g.
        by_latent: (K, D), of h g.
        by_unit: (D,), of z g.
    """

    gradient: Tensor
    by_latent: Tensor
    by_unit: Tensor


class VIFA(Method):
    """VIFA with one learning rate for c, F and gamma, or F's scaled by `factor_lr_ratio`.

    Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's. Their ranges are those of the paper.

    Args:
        latent_dim: K, columns of F.
        mc_samples: L, weight samples and minibatches per update.
        optimizer: Adam in the papers' network experiments, SGD in Algorithm 4.
        factor_lr_ratio: learning rate of F over that of c and gamma.
        two_stages: whether c is trained alone first.
    """

    name = "vifa"
    title = "VIFA"
    paper = Paper("Anonymous", "Fast and Scalable Factor Analysis Algorithm for Bayesian Deep Learning")

    gaussian = True

    def __init__(
        self,
        latent_dim: int = 1,
        mc_samples: int = 4,
        optimizer: type[Adam] | type[SGD] = Adam,
        factor_lr_ratio: float = 1.0,
        two_stages: bool = False,
    ):
        self.latent_dim = latent_dim
        self.batches_per_update = mc_samples
        self.optimizer = optimizer
        self.factor_lr_ratio = factor_lr_ratio
        self.two_stages = two_stages

    def suited_to(self, task: Task) -> "VIFA":
        if self.network(task).image is None:
            return self
        suited = copy(self)
        suited.two_stages = True
        if task.pretrained:
            suited.batches_per_update = PRETRAINED_SAMPLES
        return suited

    def excludes(self, task: Task) -> str | None:
        dim = self.network(task).dim
        if dim < self.latent_dim:
            return f"{self.latent_dim} factors, of {dim} weights"
        return super().excludes(task)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(1e-6, 5e-4) if self.two_stages else LogUniform(0.01, 0.02),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def phase(self, update: int, plan: Plan) -> Stage | None:
        if not self.two_stages:
            return None
        first = max(1, round(FIRST_STAGE * plan.n_updates))
        return Stage(update > first, first, plan.n_updates - first)

    def init(self, problem: Problem, noise) -> State:
        normal = noise.normal(problem.dim, self.latent_dim)
        factors = torch.linalg.qr(normal).Q.T
        zeros = torch.zeros_like(normal[:, :1]).T
        if self.two_stages:
            mean, factors = problem.initial_weights(noise)[None], SMALL * problem.dim**0.5 * factors
            params = torch.cat([mean, factors, torch.full_like(zeros, SMALL).log()])
        else:
            params = torch.cat([zeros, factors, zeros])
        return State(params, self.optimizer.init(params))

    def update(self, problem: Problem, state: State, batch, noise, step) -> State:
        q = posterior_of(state.params)
        expected = self._expected(problem, q, batch, noise)
        mean, *others = self._negative_elbo_gradient(q, expected, problem.hparams.prior_precision)
        if step.phase and not step.phase.second:
            others = [torch.zeros_like(block) for block in others]
        clipped = torch.cat([clip_norm(block, MAX_GRADIENT_NORM) for block in (mean, *others)])
        params, optim = state.optim.step(state.params, clipped, *self._pace(problem.hparams.lr, step))
        return State(params, optim)

    def finish(self, problem: Problem, state: State) -> LowRankNormal:
        return posterior_of(state.params)

    def sample(self, problem: Problem, posterior: LowRankNormal, noise, n_samples: int) -> Tensor:
        return posterior.sample(noise, n_samples)

    def _expected(self, problem: Problem, q: LowRankNormal, batch: Batch, noise) -> Expected:
        """Averages over L samples, each with a minibatch of its own."""
        n_samples = self.batches_per_update
        latent = noise.normal(n_samples, self.latent_dim)
        if problem.dim <= AT_ONCE:
            unit = noise.normal(n_samples, problem.dim)

            def total_nll(weights: Tensor) -> Tensor:
                return vmap(problem.nll, in_dims=(0, 0))(weights, batch).sum()

            gradients = problem.n_train * grad(total_nll)(q.transform(latent, unit))  # (L, D)
            by_latent = latent.T @ gradients / n_samples
            return Expected(gradients.mean(0), by_latent, (gradients * unit).mean(0))
        # The same numbers, one sample after the other, with as few passes over all weights as that takes.
        sd = q.variance.sqrt()
        sums = Expected(torch.zeros_like(q.mean), torch.zeros_like(q.factors), torch.zeros_like(q.mean))
        for h, x, y in zip(latent, batch.x, batch.y, strict=True):
            z = noise.normal(problem.dim)
            weights = torch.addcmul(torch.addmv(q.mean, q.factors.T, h), sd, z)
            g = grad(problem.nll)(weights, Batch(x, y))
            sums = Expected(sums.gradient + g, torch.addr(sums.by_latent, h, g), torch.addcmul(sums.by_unit, z, g))
        scale = problem.n_train / n_samples
        return Expected(*(scale * total for total in sums))

    def _negative_elbo_gradient(self, q: LowRankNormal, expected: Expected, alpha: Tensor) -> tuple[Tensor, ...]:
        """Lines 13-19 of Algorithm 4: the gradient in c (1, D), in F transposed (K, D) and in gamma (1, D).

        With S the covariance, -A + C B^T of line 18 is -S^-1 F, and line 19's bracket is -psi diag(S^-1) / 2.
        """
        inverse_times_factors, inverse_diagonal = q.precision_parts()
        mean = alpha * q.mean + expected.gradient
        factors = alpha * q.factors - inverse_times_factors + expected.by_latent
        deviation = expected.by_unit * q.variance.sqrt()
        log_variance = 0.5 * (q.variance * (alpha - inverse_diagonal) + deviation)
        return mean[None], factors, log_variance[None]

    def _pace(self, lr: Tensor, step: Step) -> tuple[Tensor, Step]:
        """Learning rates, and how many updates there have been, () or of each row of the parameters (K + 2, 1)."""
        if self.factor_lr_ratio != 1:
            ratios = [1.0, *[self.factor_lr_ratio] * self.latent_dim, 1.0]
            lr = lr * torch.tensor(ratios, dtype=lr.dtype, device=lr.device)[:, None]
        if step.phase is None or not step.phase.second:
            return lr, step
        # F and psi start late: their own count corrects Adam's averages, which have been zero until now.
        late = torch.tensor([0.0, *[1.0] * (self.latent_dim + 1)], dtype=lr.dtype, device=lr.device)[:, None]
        own = step.count - late * step.phase.first_updates
        return lr * torch.lerp(torch.ones_like(own), own / step.phase.second_updates, late), step._replace(count=own)


class PosteriorVIFA(VIFA):
    """What VIFA's experiments on known posteriors have in common: plain SGD and L = 10 (VIFA paper, section 4.1).

    Args:
        latent_dim: K.
        factor_lr_ratio: as in `VIFA`.
    """

    suites = ("posterior",)

    def __init__(self, latent_dim: int, factor_lr_ratio: float = 1.0):
        super().__init__(latent_dim, mc_samples=10, optimizer=SGD, factor_lr_ratio=factor_lr_ratio)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        # The two ends are what the paper chose among, in its Tables 6 and 9.
        return super().search_space(task) | {"lr": LogUniform(0.001, 0.01)}


class VIFAOfOneFactor(PosteriorVIFA):
    """The synthetic experiments' VIFA, K = 1; no learning rate is tuned there."""

    name = "vifa-k1"
    title = "VIFA, K = 1, SGD"

    latent = 1

    def __init__(self):
        super().__init__(self.latent, factor_lr_ratio=0.01)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return super().search_space(task) | {"lr": OneOf(0.01)}


class VIFAOfTwoFactors(VIFAOfOneFactor):
    """The synthetic experiments' VIFA, K = 2 (Brownlie 2022, Table 5.1)."""

    name = "vifa-k2"
    title = "VIFA, K = 2, SGD"

    latent = 2


class VIFAOfThreeFactors(PosteriorVIFA):
    """VIFA of the linear regressions on UCI data (VIFA paper, section 4.2.1)."""

    name = "vifa-k3"
    title = "VIFA, K = 3, SGD"

    def __init__(self):
        super().__init__(3)


class VIFAOfFiveFactors(PosteriorVIFA):
    """VIFA of the logistic regressions on UCI data (VIFA paper, section 4.2.2)."""

    name = "vifa-k5"
    title = "VIFA, K = 5, SGD"

    def __init__(self):
        super().__init__(5)


class LinearVIFA(VIFA):
    """VIFA on a linear model, with the learning rates that the paper gives it."""

    name = "vifa-lr"
    title = "VIFA, linear model"
    suites = ("uci",)

    def network(self, task: Task) -> Network:
        return task.network.linear()

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return super().search_space(task) | {"lr": LogUniform(0.001, 0.01)}


def posterior_of(params: Tensor) -> LowRankNormal:
    """The distribution that parameters (K + 2, D) stand for."""
    return LowRankNormal(params[0], params[1:-1], params[-1].exp())
