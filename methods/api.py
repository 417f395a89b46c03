"""The public interface: everything that the file of a method imports from this package.

    from methods.api import Adam, LogUniform, Method, Paper, grad, kl_diagonal

`methods` itself can be imported without torch; this module cannot.
"""

from methods.base import FullBatchMethod, Method, Paper, Plan
from methods.maths.gaussian import LowRankNormal, LowRankPrecision, kl_diagonal
from methods.maths.gradients import expected_gradient, grad, grad_and_value, grad_over_samples
from methods.maths.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian, Likelihood
from methods.maths.noise import Noise
from methods.maths.predictive import Classes, Histogram, Normals, Predictive, Quantiles, StudentT
from methods.maths.search_spaces import LogUniform, OneOf
from methods.networks.layers import Layer, Matrix
from methods.networks.mlp import MLP, Network
from methods.problem import Batch, HParams, Problem, Step, Sweep, Task
from methods.training.optim import SGD, Adam, Momentum, clip_norm

__all__ = [
    "MLP",
    "SGD",
    "Adam",
    "Batch",
    "Bernoulli",
    "Categorical",
    "Classes",
    "FullBatchMethod",
    "Gaussian",
    "HParams",
    "HeteroscedasticGaussian",
    "Histogram",
    "Layer",
    "Likelihood",
    "LogUniform",
    "LowRankNormal",
    "LowRankPrecision",
    "Matrix",
    "Method",
    "Momentum",
    "Network",
    "Noise",
    "Normals",
    "OneOf",
    "Paper",
    "Plan",
    "Predictive",
    "Problem",
    "Quantiles",
    "Step",
    "StudentT",
    "Sweep",
    "Task",
    "clip_norm",
    "expected_gradient",
    "grad",
    "grad_and_value",
    "grad_over_samples",
    "kl_diagonal",
]
