"""The public interface: everything that the file of a method imports from this package.

    from lockstep_bench.methods.api import Adam, LogUniform, Method, Paper, grad, kl_diagonal

`methods` itself can be imported without torch; this module cannot.
"""

from lockstep_bench.methods.base import FullBatchMethod, Method, Paper, Plan
from lockstep_bench.methods.maths.gaussian import LowRankNormal, LowRankPrecision, kl_diagonal
from lockstep_bench.methods.maths.gradients import (
    ExpectedGradient,
    expected_gradient,
    grad,
    grad_and_value,
    grad_and_value_over_samples,
    grad_over_samples,
)
from lockstep_bench.methods.maths.likelihoods import (
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    Likelihood,
    StudentTNoise,
)
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.predictive import (
    Classes,
    Histogram,
    NormalMixtures,
    Normals,
    Predictive,
    Quantiles,
    StudentT,
)
from lockstep_bench.methods.maths.search_spaces import LogUniform, OneOf
from lockstep_bench.methods.networks.layers import Layer, Matrix, Pieces
from lockstep_bench.methods.networks.mlp import MLP, Network
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step, Sweep, Task
from lockstep_bench.methods.training.optim import SGD, Adam, Momentum, clip_norm

__all__ = [
    "MLP",
    "SGD",
    "Adam",
    "Batch",
    "Bernoulli",
    "Categorical",
    "Classes",
    "ExpectedGradient",
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
    "NormalMixtures",
    "Normals",
    "OneOf",
    "Paper",
    "Pieces",
    "Plan",
    "Predictive",
    "Problem",
    "Quantiles",
    "Step",
    "StudentT",
    "StudentTNoise",
    "Sweep",
    "Task",
    "clip_norm",
    "expected_gradient",
    "grad",
    "grad_and_value",
    "grad_and_value_over_samples",
    "grad_over_samples",
    "kl_diagonal",
]
