"""Deep evidential regression: a network outputs a distribution over mean and variance of each target.

Four outputs give a normal-inverse-gamma distribution of the target's mean and variance: its location gamma, and

    nu = softplus(o_2),      a = softplus(o_3) + 1,      b = softplus(o_4).

The predictive is Student's t with 2a degrees of freedom, location gamma and squared scale b (1 + nu) / (nu a). Per
example the network minimises (Amini et al. 2020)

    -log t(y) + lambda |y - gamma| (2 nu + a);

the second term lowers the evidence 2 nu + a where the mean is wrong.
"""

import math
from typing import NamedTuple

from optuna.distributions import BaseDistribution
from torch import Tensor
from torch.nn.functional import softplus

from lockstep_bench.methods.api import LogUniform, Noise, Problem, StudentT, Task
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.special import log_gamma_ratio
from lockstep_bench.methods.training.point_estimate import RegressionByLoss

LEAST = 1e-6  # of nu, a - 1 and b, so that the predictive has a variance where softplus underflows


class Evidence(NamedTuple):
    """Normal-inverse-gamma distributions of M standardised targets, each field (M,).

    Attributes:
        location: gamma, mean of the target's mean.
        virtual_count: nu, number of virtual observations of the mean.
        shape: a, shape of the variance's inverse-gamma distribution, above 1.
        rate: b, scale of that inverse-gamma distribution, which is the rate of the precision's gamma distribution.
    """

    location: Tensor
    virtual_count: Tensor
    shape: Tensor
    rate: Tensor

    @classmethod
    def of(cls, outputs: Tensor) -> "Evidence":
        """Return the distributions that network outputs (M, 4) define."""
        nu, shape, rate = (LEAST + softplus(outputs[:, column]) for column in (1, 2, 3))
        return cls(outputs[:, 0], nu, 1 + shape, rate)

    def nll(self, y: Tensor) -> Tensor:
        """Return the negative log density of targets y (M,) under the marginal Student's t, nats, (M,)."""
        omega = 2 * self.rate * (1 + self.virtual_count)
        square = (y - self.location).square() * self.virtual_count
        constant = 0.5 * (math.log(math.pi) - self.virtual_count.log()) - log_gamma_ratio(self.shape)
        return constant - self.shape * omega.log() + (self.shape + 0.5) * (square + omega).log()


@catalogued("evidential")
class Evidential(RegressionByLoss):
    """Deep evidential regression. Hyper-parameters: `lr`, `prior_precision` and `penalty_weight` (lambda)."""

    joint = False
    n_outputs = 4

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {**super().search_space(task), "penalty_weight": LogUniform(1e-3, 1e-1)}

    def losses(self, problem: Problem, weights: Tensor, x: Tensor, y: Tensor, noise: Noise) -> Tensor:
        evidence = Evidence.of(problem.network(weights, x))
        total = 2 * evidence.virtual_count + evidence.shape
        return evidence.nll(y) + problem.hparams.penalty_weight * (y - evidence.location).abs() * total

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> StudentT:
        location, nu, shape, rate = Evidence.of(problem.network(posterior, x))
        scale = (rate * (1 + nu) / (nu * shape)).sqrt()
        predictive = 2 * shape, problem.y_mean + problem.y_scale * location, problem.y_scale * scale
        return StudentT(*(part[None] for part in predictive))
