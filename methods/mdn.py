"""Mixture-density network: a network outputs a mixture of normal distributions of each target.

The 3K outputs at x are K logits a, means m and log variances l of

    p(y | x) = sum_k pi_k N(y; m_k, exp(l_k)),      pi = softmax(a),

and training minimises N times the mean of -log p(y | x), plus alpha/2 |theta|^2 (Bishop 1994). With K = 1 this is
heteroscedastic Gaussian regression. More components represent several modes, skewness and heavy tails. Like the
likelihood `heteroscedastic`, the log variances are clamped to [-`MAX_LOG_VARIANCE`, `MAX_LOG_VARIANCE`]: the likelihood
of a component that shrinks onto one target has no bound. Bishop gives no number of components for data sets like
these; the default of 5 is a choice of this project.
"""

from typing import NamedTuple

from torch import Tensor

from lockstep_bench.methods.api import Noise, NormalMixtures, Problem
from lockstep_bench.methods.catalogue.rows import catalogued
from lockstep_bench.methods.maths.likelihoods import LOG_2PI, MAX_LOG_VARIANCE
from lockstep_bench.methods.training.point_estimate import RegressionByLoss


class Mixture(NamedTuple):
    """Mixtures of K normal distributions of M standardised targets, each field (M, K).

    Attributes:
        log_weights: log pi.
        mean: m.
        log_variance: l.
    """

    log_weights: Tensor
    mean: Tensor
    log_variance: Tensor

    @classmethod
    def of(cls, outputs: Tensor) -> "Mixture":
        """Return the mixtures that network outputs (M, 3K) define."""
        logits, mean, log_variance = outputs.chunk(3, dim=-1)
        log_weights = logits - logits.logsumexp(-1, keepdim=True)
        return cls(log_weights, mean, log_variance.clamp(-MAX_LOG_VARIANCE, MAX_LOG_VARIANCE))

    def nll(self, y: Tensor) -> Tensor:
        """Return the negative log density of each target in y (M,), nats, (M,)."""
        squares = (y[:, None] - self.mean).square() * (-self.log_variance).exp()
        components = self.log_weights - 0.5 * (squares + self.log_variance + LOG_2PI)
        return -components.logsumexp(-1)


@catalogued("mdn")
class MixtureDensityNetwork(RegressionByLoss):
    """Mixture-density network. Hyper-parameters: `lr` and `prior_precision`.

    Args:
        components: K, the number of normal distributions in a mixture.
    """

    def __init__(self, components: int = 5):
        self.n_outputs = 3 * components

    def losses(self, problem: Problem, weights: Tensor, x: Tensor, y: Tensor, noise: Noise) -> Tensor:
        return Mixture.of(problem.network(weights, x)).nll(y)

    def predict(self, problem: Problem, posterior: Tensor, x: Tensor, noise: Noise, n_samples: int) -> NormalMixtures:
        log_weights, mean, log_variance = Mixture.of(problem.network(posterior, x))
        variance = problem.y_scale**2 * log_variance.exp()
        return NormalMixtures(log_weights[None], (problem.y_mean + problem.y_scale * mean)[None], variance[None])
