"""VIFA: variational inference with a factor-analysis posterior.

q(theta) = N(c, F F^T + diag(psi)), psi = exp(gamma), minimises the negative ELBO

    -H[q] - E_q[log p(theta)] - E_q[log p(D | theta)],      p(theta) = N(0, I / alpha),

The gradients of the first two terms have closed forms. The gradient of the last term is estimated from L
reparameterised samples per update, each with a separate minibatch (Brownlie 2022, section 5.1 and Algorithm 4).

From a random start, this procedure fails to train deep networks. Networks for images are therefore trained in two
stages (VIFA paper, section 4.3). The first stage trains c only, from the network's initial weights, with F and psi
fixed below 1e-5. The second stage trains all parameters; the learning rates of F and psi grow from zero to the target
(linearly, as we understand the paper). The first stage takes 2 of 10 epochs. A learning-rate schedule of the protocol
multiplies only the rate of c, in both stages: in the paper the rate of c decays while those of F and psi rise. From
pretrained weights L is 12, as in the paper.
"""

from collections.abc import Mapping
from typing import NamedTuple, cast

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    SGD,
    Adam,
    Batch,
    ExpectedGradient,
    LogUniform,
    LowRankNormal,
    Method,
    Network,
    Noise,
    Plan,
    Problem,
    Step,
    Task,
    clip_norm,
    expected_gradient,
)
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.gradients import expected_gradient_of_mean
from lockstep_bench.methods.maths.orthogonal import thin_qr
from lockstep_bench.methods.maths.search_spaces import PRETRAINED

MAX_GRADIENT_NORM = 10.0  # each of the gradients in c, F and gamma is clipped to it
FIRST_STAGE = 2 / 10  # fraction of training
PRETRAINED_SAMPLES = 12  # L, for networks that start from trained weights
OPTIMIZERS: Mapping[str, type[Adam] | type[SGD]] = {"adam": Adam, "sgd": SGD}
SMALL = 1e-6  # psi in the first stage, and the root mean square of the entries of F


class VIFAState(NamedTuple):
    """State of training by VIFA.

    Attributes:
        params: (K + 2, D), parameters with rows c, the K columns of F, and gamma = log psi.
        optim: optimiser of all parameters.
    """

    params: Tensor
    optim: Adam | SGD


class Stage(NamedTuple):
    """Phase of an update, for training in two stages.

    Attributes:
        second: whether F and psi are trained too.
        first_updates: number of updates of the first stage.
        second_updates: number of updates of the second stage.
    """

    second: bool
    first_updates: int
    second_updates: int


class Pace(NamedTuple):
    """Learning rates of an update, and its count for Adam; each for all rows of `params`, (), or per row, (K + 2, 1).

    Attributes:
        rates: learning rates.
        counts: number of updates since training of the row began. F and psi may start late; Adam's bias correction then
            counts from their start.
    """

    rates: Tensor
    counts: Tensor


@catalogued("vifa")
class VIFA(Method):
    """VIFA with one learning rate for c, F and gamma, or with F's rate scaled by `factor_lr_ratio`.

    Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's. Their ranges are those of the paper.

    Args:
        latent_dim: K, number of columns of F.
        mc_samples: L, number of weight samples, and of minibatches, per update.
        optimizer: "adam" as in the papers' network experiments, or "sgd" as in Algorithm 4.
        factor_lr_ratio: ratio of the learning rate of F to that of c and gamma.
        two_stages: whether c is trained alone first.
        mean_network: whether to predict with c alone.

    Attributes:
        rates: range of the learning rate where all parameters are trained at once.
    """

    rates: BaseDistribution = LogUniform(0.01, 0.02)

    def __init__(
        self,
        latent_dim: int = 1,
        mc_samples: int = 4,
        optimizer: str = "adam",
        factor_lr_ratio: float = 1.0,
        two_stages: bool = False,
        mean_network: bool = False,
    ):
        if optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer is {optimizer!r}; it must be one of {', '.join(OPTIMIZERS)}")
        self.latent_dim = latent_dim
        self.batches_per_update = mc_samples
        self.optimizer = OPTIMIZERS[optimizer]
        self.factor_lr_ratio = factor_lr_ratio
        self.two_stages = two_stages
        self.mean_network = mean_network

    def suited_to(self, task: Task) -> "VIFA":
        if self.network(task).image is None:
            return self
        suited = self.changed(two_stages=True)
        if task.pretrained and "mc_samples" not in self.options:
            suited.batches_per_update = PRETRAINED_SAMPLES
        return suited

    def excludes(self, task: Task) -> str | None:
        dim = self.network(task).dim
        if dim < self.latent_dim:
            return f"{self.latent_dim} factors, but only {dim} weights"
        return super().excludes(task)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": PRETRAINED["lr"] if self.two_stages else self.rates,
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def phase(self, update: int, plan: Plan) -> Stage | None:
        if not self.two_stages:
            return None
        first = max(1, round(FIRST_STAGE * plan.n_updates))
        return Stage(update > first, first, plan.n_updates - first)

    def init(self, problem: Problem, noise: Noise) -> VIFAState:
        normal = noise.normal(problem.dim, self.latent_dim)
        factors = thin_qr(normal)[0].T
        zeros = torch.zeros_like(normal[:, :1]).T
        if self.two_stages:
            mean, factors = problem.initial_weights(noise)[None], SMALL * problem.dim**0.5 * factors
            params = torch.cat([mean, factors, torch.full_like(zeros, SMALL).log()])
        else:
            params = torch.cat([zeros, factors, zeros])
        return VIFAState(params, self.optimizer.init(params))

    def update(
        self, problem: Problem, state: VIFAState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[VIFAState, dict[str, Tensor]]:
        q, alpha = posterior_of(state.params), problem.hparams.prior_precision
        stage = cast(Stage | None, step.phase)

        def nll(weights: Tensor, x: Tensor, y: Tensor) -> Tensor:
            return problem.nll(weights, Batch(x, y))

        blocks: tuple[Tensor, ...]
        if stage and not stage.second:
            of_mean, expected_nll = expected_gradient_of_mean(nll, q, noise, batch[:2], problem.n_train)
            blocks = (alpha * q.mean + of_mean)[None], torch.zeros_like(state.params[1:])
        else:
            expected = expected_gradient(nll, q, noise, batch[:2], problem.n_train)
            blocks, expected_nll = negative_elbo_gradient(q, expected, alpha), expected.value
        clipped = torch.cat([clip_norm(block, MAX_GRADIENT_NORM) for block in blocks])
        pace = self._pace(problem, step)
        params, optim = state.optim.step(state.params, clipped, pace.rates, step._replace(count=pace.counts))
        return VIFAState(params, optim), {"elbo": problem.elbo(expected_nll + q.kl(alpha))}

    def finish(self, problem: Problem, state: VIFAState) -> LowRankNormal:
        return posterior_of(state.params)

    def diagnostics(self, problem: Problem, posterior: LowRankNormal) -> dict[str, Tensor]:
        """Return the divergence from the prior in nats per training example."""
        return {"kl": posterior.kl(problem.hparams.prior_precision) / problem.n_train}

    def sample(self, problem: Problem, posterior: LowRankNormal, noise: Noise, n_samples: int) -> Tensor:
        return posterior.mean[None] if self.mean_network else posterior.sample(noise, n_samples)

    def _pace(self, problem: Problem, step: Step) -> Pace:
        lr, full = problem.hparams.lr, problem.full_lr
        if self.factor_lr_ratio != 1:
            ratios = self._by_row(lr, mean=1.0, factors=self.factor_lr_ratio, log_variance=1.0)
            lr, full = lr * ratios, full * ratios
        stage = cast(Stage | None, step.phase)
        if stage is None or not stage.second:
            return Pace(lr, step.count)
        late = self._by_row(lr, mean=0.0, factors=1.0, log_variance=1.0) > 0
        since = step.count - stage.first_updates
        rising = full * since / stage.second_updates
        return Pace(torch.where(late, rising, lr), torch.where(late, since, step.count))

    def _by_row(self, like: Tensor, mean: float, factors: float, log_variance: float) -> Tensor:
        """Return a number for each row of the parameters, (K + 2, 1), of the type and device of `like`."""
        rows = [mean, *[factors] * self.latent_dim, log_variance]
        return torch.tensor(rows, dtype=like.dtype, device=like.device)[:, None]


@catalogued("vifa-lr")
class LinearVIFA(VIFA):
    """VIFA on a linear model, with the paper's learning rates for linear models."""

    def network(self, task: Task) -> Network:
        return task.network.linear()


def negative_elbo_gradient(q: LowRankNormal, nll: ExpectedGradient, alpha: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradient of the negative ELBO in c, F and gamma (Algorithm 4, lines 13 to 19).

    With S the covariance of q, the term -A + C B^T in line 18 equals -S^-1 F, and the bracket in line 19 equals -psi
    diag(S^-1) / 2.

    Args:
        q: N(c, F F^T + diag(psi)).
        nll: gradient of the expected negative log-likelihood of all training rows.
        alpha: (), prior precision.

    Returns:
        The gradients in c, (1, D), in F transposed, (K, D), and in gamma, (1, D).
    """
    inverse_times_factors, inverse_diagonal = q.precision_parts()
    mean = alpha * q.mean + nll.mean
    factors = alpha * q.factors - inverse_times_factors + nll.factors
    deviation = nll.deviation * q.variance.sqrt()
    log_variance = 0.5 * (q.variance * (alpha - inverse_diagonal) + deviation)
    return mean[None], factors, log_variance[None]


def posterior_of(params: Tensor) -> LowRankNormal:
    """Return the Gaussian q(theta) that the parameters `VIFAState.params`, (K + 2, D), define."""
    return LowRankNormal(params[0], params[1:-1], params[-1].exp())
