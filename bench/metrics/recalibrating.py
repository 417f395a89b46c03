"""Recalibration of a predictive by one number, which is fitted to predictions of held-out rows.

Regression: the predictive at a point is stretched about its mean m by a factor c, so that its standard deviation is c
times as large and its mean and shape stay as they are. Its density becomes p(m + (y - m) / c) / c. For one normal per
point, the factor of the least NMLL is the root mean square of the residuals (y - m) / sd.

Classification: the probabilities p, averaged over the samples, become p(c)^(1/T) / sum_k p(k)^(1/T) with the
temperature T (Guo et al. 2017; of the average, as in Rahaman and Thiery 2021). The most probable class stays.
"""

import math
from collections.abc import Sequence

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from lockstep_bench.bench import metrics
from lockstep_bench.bench.metrics import regression
from lockstep_bench.methods.maths.predictive import (
    Classes,
    Histogram,
    NormalMixtures,
    Normals,
    Predictive,
    Quantiles,
    StudentT,
)

WIDEST = 1000.0  # the factor is sought between 1 / WIDEST and WIDEST
WORST = 1e300  # stands for an infinite NMLL, of a histogram with a target outside of its bins
TOLERANCE = 1e-9  # of the logarithm of the factor


def best_factor(held_out: Sequence[tuple[Predictive, Tensor]]) -> float:
    """Return the factor, or the temperature, with the least NMLL over all held-out points.

    Args:
        held_out: predictives at held-out points, each with the targets (n,) in original units, or class numbers.
    """
    fixed = [(_pooled(predictive) if isinstance(predictive, Classes) else predictive, y) for predictive, y in held_out]

    def nll(log_factor: float) -> float:
        total = sum(-_log_density(predictive, y, math.exp(log_factor)).sum().item() for predictive, y in fixed)
        return total if math.isfinite(total) else WORST

    bounds = (-math.log(WIDEST), math.log(WIDEST))
    return math.exp(minimize_scalar(nll, bounds=bounds, method="bounded", options={"xatol": TOLERANCE}).x)


def recalibrated(predictive: Predictive, factor: float) -> Predictive:
    """Return a predictive stretched about its mean by a factor, or tempered; see the module's docstring.

    Args:
        predictive: the predictive at n points.
        factor: factor on the standard deviation, or temperature of a classification; above 0.
    """
    if isinstance(predictive, Classes):
        return Classes(torch.log_softmax(_pooled(predictive).log_probs / factor, dim=-1))
    mean = regression.moments(predictive).mean

    def stretched(values: Tensor) -> Tensor:
        centre = mean if values.ndim == 2 else mean[:, None]
        return centre + factor * (values.double() - centre)

    match predictive:
        case Normals():
            return Normals(stretched(predictive.mean), factor**2 * predictive.variance.double())
        case NormalMixtures():
            variances = factor**2 * predictive.variances.double()
            return NormalMixtures(predictive.log_weights.double(), stretched(predictive.means), variances)
        case StudentT():
            return StudentT(predictive.df.double(), stretched(predictive.location), factor * predictive.scale.double())
        case Quantiles():
            return Quantiles(predictive.levels.double(), stretched(predictive.values))
        case Histogram():
            return Histogram(stretched(predictive.edges), predictive.probabilities.double())


def _log_density(predictive: Predictive, y: Tensor, factor: float) -> Tensor:
    """Return the log density of the recalibrated predictive at targets y (n,); classes are averaged already."""
    if isinstance(predictive, Classes):
        return metrics.log_density(Classes(torch.log_softmax(predictive.log_probs / factor, dim=-1)), y)
    mean = regression.moments(predictive).mean.to(y.device)
    return metrics.log_density(predictive, mean + (y - mean) / factor) - math.log(factor)


def _pooled(predictive: Classes) -> Classes:
    """Return the average of the samples' probabilities as a predictive of one sample, float64."""
    log_probs = torch.log_softmax(predictive.log_probs.double(), dim=-1)
    return Classes(torch.logsumexp(log_probs, dim=0, keepdim=True) - math.log(len(log_probs)))
