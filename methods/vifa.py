"""VIFA: variational inference with a factor-analysis posterior.

q(theta) = N(c, F F^T + diag(psi)), psi = exp(gamma), minimises the negative ELBO

    -H[q] - E_q[log p(theta)] - E_q[log p(D | theta)],      p(theta) = N(0, I / alpha),

whose first two terms have closed gradients and whose last is estimated from L reparameterised samples per update,
each with a minibatch of its own (Brownlie 2022, section 5.1 and Algorithm 4).
"""

from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.func import grad, vmap

from methods.base import Method, Paper
from methods.gaussian import LowRankNormal
from methods.networks import Network
from methods.optim import SGD, Adam, clip_norm
from methods.problem import Problem, Task
from methods.spaces import LogUniform, OneOf

MAX_GRADIENT_NORM = 10.0  # of the gradients of c, F and gamma apart


class State(NamedTuple):
    """Attributes:
    params: (K + 2, D): the mean c, the K columns of F, the log variances gamma.
    optim: of all of them.
    """

    params: Tensor
    optim: Adam | SGD


class VIFA(Method):
    """VIFA with one learning rate for c, F and gamma, or F's scaled by `factor_lr_ratio`.

    Hyper-parameters: `lr`, `prior_precision` (alpha) and the likelihood's. Their ranges are those of the paper.

    Args:
        latent_dim: K, columns of F.
        mc_samples: L, weight samples and minibatches per update.
        optimizer: Adam in the papers' network experiments, SGD in Algorithm 4.
        factor_lr_ratio: learning rate of F over that of c and gamma.
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
    ):
        self.latent_dim = latent_dim
        self.batches_per_update = mc_samples
        self.optimizer = optimizer
        self.factor_lr_ratio = factor_lr_ratio

    def excludes(self, task: Task) -> str | None:
        dim = self.network(task).dim
        if dim < self.latent_dim:
            return f"{self.latent_dim} factors, of {dim} weights"
        return super().excludes(task)

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(0.01, 0.02),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def init(self, problem: Problem, hparams, noise) -> State:
        normal = noise.normal(problem.dim, self.latent_dim)
        factors = torch.linalg.qr(normal).Q.T
        zeros = torch.zeros_like(normal[:, :1]).T
        params = torch.cat([zeros, factors, zeros])
        return State(params, self.optimizer.init(params))

    def update(self, problem: Problem, state: State, batch, hparams, noise, t) -> State:
        q = posterior_of(state.params)
        latent = noise.normal(self.batches_per_update, self.latent_dim)
        unit = noise.normal(self.batches_per_update, problem.dim)

        def total_nll(weights: Tensor) -> Tensor:
            return vmap(problem.mean_nll, in_dims=(0, 0, None))(weights, batch, hparams).sum()

        mean_grads = problem.n_train * grad(total_nll)(q.transform(latent, unit))  # (L, D)
        gradient = self._negative_elbo_gradient(q, mean_grads, latent, unit, hparams.prior_precision)
        clipped = torch.cat([clip_norm(block, MAX_GRADIENT_NORM) for block in gradient.split([1, self.latent_dim, 1])])
        params, optim = state.optim.step(state.params, clipped, self._rates(hparams.lr), t)
        return State(params, optim)

    def finish(self, problem: Problem, state: State, hparams) -> LowRankNormal:
        return posterior_of(state.params)

    def sample(self, problem: Problem, posterior: LowRankNormal, noise, n_samples: int) -> Tensor:
        return posterior.sample(noise, n_samples)

    def _negative_elbo_gradient(
        self, q: LowRankNormal, mean_grads: Tensor, latent: Tensor, unit: Tensor, alpha: Tensor
    ) -> Tensor:
        """Lines 13-19 of Algorithm 4: the gradient (K + 2, D), blocks as in `State.params`.

        With S the covariance, -A + C B^T of line 18 is -S^-1 F, and line 19's bracket is -psi diag(S^-1) / 2.
        """
        n_samples = mean_grads.shape[0]
        inverse_times_factors, inverse_diagonal = q.precision_parts()
        mean = alpha * q.mean + mean_grads.mean(0)
        factors = alpha * q.factors - inverse_times_factors + latent.T @ mean_grads / n_samples
        deviation = (mean_grads * unit).mean(0) * q.variance.sqrt()
        log_variance = 0.5 * (q.variance * (alpha - inverse_diagonal) + deviation)
        return torch.cat([mean[None], factors, log_variance[None]])

    def _rates(self, lr: Tensor) -> Tensor:
        if self.factor_lr_ratio == 1:
            return lr
        ratios = [1.0, *[self.factor_lr_ratio] * self.latent_dim, 1.0]
        return lr * torch.tensor(ratios, dtype=lr.dtype, device=lr.device)[:, None]


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
