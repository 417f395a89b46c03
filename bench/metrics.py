"""Every metric of a regression cell, from one `Predictive`.

The predictive at a point is the equal mixture (1/S) sum_s N(m_s, v_s) in original target units. All arithmetic is
float64.
"""

import math

import torch
from torch import Tensor

from methods.likelihoods import Predictive

INTERVALS = (50, 80, 90, 95)  # central predictive intervals, per cent


def log_density(predictive: Predictive, y: Tensor) -> Tensor:
    """log (1/S) sum_s N(y; m_s, v_s) at each of the n points, (n,), nats."""
    mean, variance = _float64(predictive)
    components = -0.5 * ((y - mean) ** 2 / variance + variance.log() + math.log(2 * math.pi))
    return torch.logsumexp(components, dim=0) - math.log(len(mean))


def nmll(predictive: Predictive, y: Tensor) -> float:
    """The mean over points of -log p(y), nats: the benchmark's headline and the tuner's objective."""
    return -log_density(predictive, y).mean().item()


def evaluate(predictive: Predictive, y: Tensor, y_scale: float) -> dict[str, float]:
    """All metrics of `bench.schema.METRICS` for targets y (n,) and the train part's target scale."""
    moments = _moments(predictive)
    headline = nmll(predictive, y)
    moment = nmll(Predictive(*(part[None] for part in moments)), y)
    rmse = (moments.mean - y).square().mean().sqrt().item()
    pit = cdf(predictive, y)
    return {
        "nmll": headline,
        "nmll_moment": moment,
        "nmll_standardised": headline - math.log(y_scale),
        "nmll_moment_standardised": moment - math.log(y_scale),
        "rmse": rmse,
        "rmse_standardised": rmse / y_scale,
        "crps": crps(predictive, y).mean().item(),
        **{f"coverage_{level}": _coverage(pit, level / 100) for level in INTERVALS},
    }


def cdf(predictive: Predictive, y: Tensor) -> Tensor:
    """P(Y <= y) under the mixture at each point, (n,): the probability integral transform of y."""
    mean, variance = _float64(predictive)
    return torch.special.ndtr((y - mean) / variance.sqrt()).mean(0)


def crps(predictive: Predictive, y: Tensor) -> Tensor:
    """Continuous ranked probability score of the mixture at each point, (n,), original units.

    E|Y - y| - E|Y - Y'| / 2 in closed form for a mixture of normals (Grimit et al. 2006, eq. 4): with
    A(m, v) = m (2 Phi(m / sqrt(v)) - 1) + 2 sqrt(v) phi(m / sqrt(v)) it is
    1/S sum_s A(y - m_s, v_s) - 1/(2 S^2) sum_{s,s'} A(m_s - m_s', v_s + v_s').
    """
    mean, variance = _float64(predictive)
    # One component against all others at a time: S x n numbers in memory, not S x S x n.
    spread = sum(_expected_absolute(mean - mean[s], variance + variance[s]).mean(0) for s in range(len(mean)))
    return _expected_absolute(y - mean, variance).mean(0) - 0.5 * spread / len(mean)


def _coverage(pit: Tensor, level: float) -> float:
    """Fraction of points whose y lies inside the central interval of the given probability."""
    return ((pit - 0.5).abs() <= level / 2).double().mean().item()


def _expected_absolute(mean: Tensor, variance: Tensor) -> Tensor:
    """E|Z| for Z ~ N(mean, variance)."""
    sd = variance.sqrt()
    z = mean / sd
    density = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return mean * (2 * torch.special.ndtr(z) - 1) + 2 * sd * density


def _moments(predictive: Predictive) -> Predictive:
    """Mean and variance of the mixture at each point, (n,) both."""
    mean, variance = _float64(predictive)
    return Predictive(mean.mean(0), variance.mean(0) + mean.var(0, correction=0))


def _float64(predictive: Predictive) -> Predictive:
    return Predictive(*(part.double() for part in predictive))
