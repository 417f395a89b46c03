"""IVON: improved variational online Newton, natural-gradient variational inference at the cost of Adam.

q(theta) = N(m, diag(s^2)) with s^2 = 1 / (N h + alpha) minimises the negative ELBO

    E_q[-log p(D | theta)] + KL(q || N(0, I / alpha)).

With a weight sample theta = m + s eps, the minibatch gradient g of the mean NLL at theta and the estimate
h' = g eps / s of the diagonal of its Hessian, an update is

    G <- b1 G + (1 - b1) g
    h <- b2 h + (1 - b2) h' + (1 - b2)^2 / 2 (h - h')^2 / (h + alpha / N)
    m <- m - lr clip((G / (1 - b1^t) + alpha m / N) / (h + alpha / N))

(Shen et al. 2024, Algorithm 1). The last term of the second line keeps h + alpha / N positive. `clip` limits each
coordinate of the Newton step to [-r, r] (the package's `clip_radius`).

The learning rate is not multiplied by the initial h + alpha / N, as the authors' package can do (`rescale_lr`); the
paper leaves this open. An update is then a Newton step of relative length lr, so one range of lr suits every noise
precision. b2 is 0.999, because fits have 10^3 to 10^4 updates; the package's default, 0.99999, suits 10^5 or more
updates.
"""

import math
from typing import NamedTuple

import torch
from optuna.distributions import BaseDistribution
from torch import Tensor

from lockstep_bench.methods.api import (
    Batch,
    LogUniform,
    Method,
    Noise,
    Problem,
    Step,
    Task,
    grad_and_value,
    kl_diagonal,
)
from lockstep_bench.methods.catalogue.rows import catalogued

MOMENTUM, HESSIAN_DECAY = 0.9, 0.999
# With predicted noise a single weight sample can have a gradient of 10^6: G follows it at once, and h only later.
CLIP_RADIUS = 0.1


class IVONState(NamedTuple):
    """State of training by IVON.

    Attributes:
        mean: (D,), m.
        gradient: (D,), G, the running mean of gradients.
        hessian: (D,), h, the running mean of the Hessian's diagonal.
    """

    mean: Tensor
    gradient: Tensor
    hessian: Tensor


@catalogued("ivon")
class IVON(Method):
    """Improved variational online Newton.

    Hyper-parameters: `lr`, `hess_init` (the first h), `prior_precision` (alpha) and the likelihood's.

    Args:
        hessian_decay: b2, decay rate of the running mean h of the Hessian's diagonal.
        clip_radius: r, the largest change of a weight in an update, divided by lr.
    """

    def __init__(self, hessian_decay: float = HESSIAN_DECAY, clip_radius: float = CLIP_RADIUS):
        self.hessian_decay, self.clip_radius = hessian_decay, clip_radius

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {
            "lr": LogUniform(0.01, 0.1),
            "hess_init": LogUniform(0.1, 10),
            "prior_precision": LogUniform(0.01, 10),
            **task.likelihood.search_space(),
        }

    def init(self, problem: Problem, noise: Noise) -> IVONState:
        mean = problem.initial_weights(noise)
        return IVONState(mean, torch.zeros_like(mean), problem.hparams.hess_init.expand_as(mean).clone())

    def update(
        self, problem: Problem, state: IVONState, batch: Batch, noise: Noise, step: Step
    ) -> tuple[IVONState, dict[str, Tensor]]:
        alpha, decay = problem.hparams.prior_precision, problem.hparams.prior_precision / problem.n_train
        sd, unit = _sd(problem, state.hessian), noise.normal(problem.dim)
        gradient, nll = grad_and_value(problem.nll)(state.mean + sd * unit, batch)

        momentum = torch.lerp(gradient, state.gradient, MOMENTUM)
        estimate, rate = gradient * unit / sd, 1 - self.hessian_decay
        correction = 0.5 * rate**2 * (state.hessian - estimate).square() / (state.hessian + decay)
        hessian = torch.lerp(state.hessian, estimate, rate) + correction
        unbiased = momentum / -torch.expm1(step.count * math.log(MOMENTUM))
        newton = (unbiased + decay * state.mean) / (hessian + decay)
        mean = state.mean - problem.hparams.lr * newton.clamp(-self.clip_radius, self.clip_radius)

        negative_elbo = problem.n_train * nll + kl_diagonal(state.mean, sd.log(), alpha)
        return IVONState(mean, momentum, hessian), {"elbo": problem.elbo(negative_elbo)}

    def finish(self, problem: Problem, state: IVONState) -> Tensor:
        """Return mean and log standard deviation of the weights, (2, D)."""
        return torch.stack([state.mean, _sd(problem, state.hessian).log()])

    def diagnostics(self, problem: Problem, posterior: Tensor) -> dict[str, Tensor]:
        """Return KL(q || prior) in nats per training example, and the median of the weights' standard deviations."""
        mean, log_sd = posterior.unbind()
        divergence = kl_diagonal(mean, log_sd, problem.hparams.prior_precision) / problem.n_train
        return {"kl": divergence, "median_sd": log_sd.median().exp()}

    def moments(self, problem: Problem, posterior: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_sd = posterior.unbind()
        return mean, torch.diag(torch.exp(2 * log_sd))

    def sample(self, problem: Problem, posterior: Tensor, noise: Noise, n_samples: int) -> Tensor:
        mean, log_sd = posterior.unbind()
        return mean + log_sd.exp() * noise.normal(n_samples, problem.dim)


def _sd(problem: Problem, hessian: Tensor) -> Tensor:
    """Return the posterior standard deviations (D,) for h (D,)."""
    return (problem.n_train * hessian + problem.hparams.prior_precision).rsqrt()
