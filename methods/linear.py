"""Bayesian linear regression, whose prior precision and noise precision maximise the evidence.

With the prior N(0, I / alpha) of the weights w of standardised inputs, and the likelihood N(y; w^T x, 1 / beta), the
posterior is N(m, S) with

    S^-1 = alpha I + beta X^T X,    m = beta S X^T y,

and a prediction at x is N(m^T x, 1 / beta + x^T S x). alpha and beta maximise the evidence p(y | alpha, beta) (MacKay
1992; Bishop 2006, section 3.5). In the ratio r = alpha / beta, and with eigenvalues d of X^T X, the best beta is

    beta = N / R(r),    R(r) = |y - X m|^2 + r |m|^2,

so that a search over r alone finds both:

    log p(y | r) = 1/2 sum_i log(r / (r + d_i)) - N/2 log R(r) + constant.

Inputs and targets are standardised on the N training rows, and the model has no intercept: the mean of the targets is
taken as known, as in scikit-learn's `BayesianRidge`. An intercept with a flat prior would replace N by N - 1 in beta
and in the evidence, and would add 1 / (N beta) to the variance of predictions.

Nothing is tuned, and no random number is drawn. This method is a baseline: a network that does no better has learnt
nothing that is not linear.
"""

from typing import NamedTuple

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from scipy.optimize import minimize_scalar
from torch import Tensor

from lockstep_bench.methods.api import FullBatchMethod, Network, Noise, Normals, Predictive, Problem, Task
from lockstep_bench.methods.catalogue.rows import catalogued

RATIOS = np.logspace(-8, 12, 201)  # of which the best is refined between its neighbours
LEAST_NOISE = 1e-12  # variance of standardised targets; a linear target without noise has none
ROUND_OFF = 1e-12  # eigenvalues below this fraction of the largest are zero


class LinearPosterior(NamedTuple):
    """The Gaussian posterior of the weights, float64, for standardised targets.

    Attributes:
        mean: (P,), posterior mean m of the weights.
        factor: (P, P), a square root of the covariance: S = factor factor^T.
        prior_precision: (), alpha, chosen by the evidence.
        noise_precision: (), beta, chosen by the evidence.
    """

    mean: Tensor
    factor: Tensor
    prior_precision: Tensor
    noise_precision: Tensor


@catalogued("linear")
class Linear(FullBatchMethod):
    """Linear regression with evidence maximisation. It has no hyper-parameters."""

    likelihoods = ("gaussian", "heteroscedastic")
    joint = False
    deterministic = True
    one_pass = True

    def search_space(self, task: Task) -> dict[str, BaseDistribution]:
        return {}

    def network(self, task: Task) -> Network:
        return task.network.linear()

    def fit(self, problem: Problem, x: Tensor, y: Tensor, seed: int) -> LinearPosterior:
        x, y = x.double(), y.double()
        eigenvalues, vectors = torch.linalg.eigh(x.T @ x)
        eigenvalues = eigenvalues.clamp(min=0)
        rotated = vectors.T @ (x.T @ y)
        present = eigenvalues > ROUND_OFF * eigenvalues.max()
        least_squares = torch.where(present, rotated / eigenvalues, 0)
        residual = (y - x @ (vectors @ least_squares)).square().sum().clamp(min=LEAST_NOISE * len(y))
        explained = rotated * least_squares

        def noise_variance(ratio: float) -> Tensor:
            """Return R(ratio) / N: what least squares leaves, and what the prior takes from it."""
            total: Tensor = residual + (explained * ratio / (eigenvalues + ratio)).sum()
            return total / len(y)

        def loss(log_ratio: float) -> float:
            ratio = float(np.exp(log_ratio))
            complexity = torch.log(ratio / (ratio + eigenvalues)).sum()
            return float(len(y) * noise_variance(ratio).log() - complexity) / 2

        grid = np.log(RATIOS)
        best = int(np.argmin([loss(each) for each in grid]))
        ends = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
        ratio = float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-8}).x))
        noise_precision = 1 / noise_variance(ratio)
        variances = 1 / (noise_precision * (eigenvalues + ratio))
        mean = vectors @ (rotated / (eigenvalues + ratio))
        return LinearPosterior(mean, vectors * variances.sqrt(), ratio * noise_precision, noise_precision)

    def diagnostics(self, problem: Problem, posterior: LinearPosterior) -> dict[str, Tensor]:
        """Return the prior precision alpha, and the noise precision beta in original target units."""
        noise_precision = posterior.noise_precision / problem.y_scale.double() ** 2
        return {"prior_precision": posterior.prior_precision, "noise_precision": noise_precision}

    def predict(
        self, problem: Problem, posterior: LinearPosterior, x: Tensor, noise: Noise, n_samples: int
    ) -> Predictive:
        x = x.double()
        variance = 1 / posterior.noise_precision + (x @ posterior.factor).square().sum(1)
        return Normals(
            (problem.y_mean + problem.y_scale.double() * (x @ posterior.mean))[None],
            (problem.y_scale.double() ** 2 * variance)[None],
        )
