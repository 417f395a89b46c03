"""beta-NLL: heteroscedastic regression in which examples are weighted by a power of their predicted variance.

The network's outputs are the mean m and the log variance l of each target. Per example it minimises

    exp(beta l) (1/2 (y - m)^2 exp(-l) + l / 2 + const),      the first factor without gradient

(Seitzer et al. 2022). beta = 0 is the NLL, under which examples of large predicted variance hardly move the
mean; beta = 1 gives the mean the gradient of the squared error. The paper recommends 0.5.
"""

import torch
from torch import Tensor

from lockstep_bench.methods.api import Noise, Predictive, Problem
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.likelihoods import MAX_LOG_VARIANCE
from lockstep_bench.methods.training.point_estimate import RegressionByLoss


@catalogued("beta-nll")
class BetaNLL(RegressionByLoss):
    """Heteroscedastic regression by the beta-NLL. Hyper-parameters: `lr` and `prior_precision`.

    Args:
        beta: exponent of the variance that weighs an example.
    """

    def __init__(self, beta: float = 0.5):
        self.beta = beta

    def losses(self, problem: Problem, weights: Tensor, x: Tensor, y: Tensor, noise: Noise) -> Tensor:
        outputs = problem.network(weights, x)
        log_variance = outputs[:, 1].clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE).detach()
        return torch.exp(self.beta * log_variance) * problem.nll_of_outputs(outputs, y)

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> Predictive:
        return problem.predictive(posterior[None], x)
