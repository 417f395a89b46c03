"""Metrics of regression, in original target units.

The predictive at a point is the mixture (1/S) sum_s N(m_s, v_s), or another distribution
(`bench.metrics.distributions`).
"""

import math

import torch
from torch import Tensor

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.distributions import distribution_of
from lockstep_bench.bench.metrics.intervals import interval_scores
from lockstep_bench.methods.maths.predictive import Normals, Regression
from lockstep_bench.shared.uncertainty.risk_coverage import augrc, aurc
from lockstep_bench.shared.uncertainty.uniformity import uniformity_p_value

INTERVALS = (50, 80, 90, 95)  # central predictive intervals, per cent


def log_densities(predictive: Regression, y: Tensor) -> Tensor:
    """Return log p_s(y) of each sample s at each point, such as log N(y; m_s, v_s), (S, n), nats.

    For predictives without samples, S is 1.
    """
    y = checks.targets(predictive, y, *checks.REGRESSIONS)
    if not isinstance(predictive, Normals):
        return torch.as_tensor(distribution_of(predictive).log_densities(y.cpu().numpy()))
    mean, variance = _float64(predictive)
    return -0.5 * ((y - mean) ** 2 / variance + variance.log() + math.log(2 * math.pi))


def log_density(predictive: Regression, y: Tensor) -> Tensor:
    """Return the log predictive density log (1/S) sum_s p_s(y) per point, (n,), nats."""
    components = log_densities(predictive, y)
    return torch.logsumexp(components, dim=0) - math.log(len(components))


def evaluate(predictive: Regression, y: Tensor, y_scale: float) -> dict[str, float]:
    """Return the metrics of `shared.schema.REGRESSION` for targets y (n,).

    `y_scale` is the standard deviation of the training targets.
    """
    y, y_scale = checks.targets(predictive, y, *checks.REGRESSIONS), checks.positive(y_scale, "y_scale")
    mixture = moments(predictive)
    headline = -log_density(predictive, y).mean().item()
    moment = -log_density(Normals(*(part[None] for part in mixture)), y).mean().item()
    squares = (mixture.mean - y).square()
    rmse = squares.mean().sqrt().item()
    pit = cdf(predictive, y)
    scores = interval_scores(predictive, y.cpu().numpy(), INTERVALS)
    ranked = mixture.variance.numpy(), squares.numpy()
    return {
        "nmll_moment": moment,
        "nmll_standardised": headline - math.log(y_scale),
        "nmll_moment_standardised": moment - math.log(y_scale),
        "rmse": rmse,
        "rmse_standardised": rmse / y_scale,
        "crps": crps(predictive, y).mean().item(),
        **{f"coverage_{level}": _coverage(pit, level / 100) for level in INTERVALS},
        **{f"interval_score_{level}": score for level, score in scores.items()},
        "pit_p_value": uniformity_p_value(pit.numpy()),
        "aurc_squared_error": aurc(*ranked),
        "augrc_squared_error": augrc(*ranked),
    }


def joint_nmll(predictive: Regression, y: Tensor) -> float:
    """Return the joint NMLL of all N points, -log (1/S) sum_s prod_n p_sn(y_n) / N, nats per point.

    Some papers report this joint density as a log-likelihood. It differs from the NMLL, which averages over the samples
    at each point separately.
    """
    joint = log_densities(predictive, y).sum(1)
    return (math.log(len(joint)) - torch.logsumexp(joint, dim=0)).item() / len(y)


def cdf(predictive: Regression, y: Tensor) -> Tensor:
    """Return P(Y <= y) under the predictive per point, (n,): the probability integral transform of y."""
    y = checks.targets(predictive, y, *checks.REGRESSIONS)
    if not isinstance(predictive, Normals):
        return torch.as_tensor(distribution_of(predictive).cdf(y.cpu().numpy()))
    mean, variance = _float64(predictive)
    cdf: Tensor = torch.special.ndtr((y - mean) / variance.sqrt()).mean(0)
    return cdf


def crps(predictive: Regression, y: Tensor) -> Tensor:
    """Return the continuous ranked probability score per test point, (n,), original units.

    The score is E|Y - y| - E|Y - Y'| / 2. For a Gaussian mixture it equals, with A(m, v) = m (2 Phi(m / sqrt(v)) - 1) +
    2 sqrt(v) phi(m / sqrt(v)), 1/S sum_s A(y - m_s, v_s) - 1/(2 S^2) sum_{s,s'} A(m_s - m_s', v_s + v_s') (Grimit et
    al. 2006, eq. 4). For other distributions, see `bench.metrics.distributions` and `bench.metrics.mixtures`.
    """
    y = checks.targets(predictive, y, *checks.REGRESSIONS)
    if not isinstance(predictive, Normals):
        return torch.as_tensor(distribution_of(predictive).crps(y.cpu().numpy()))
    mean, variance = _float64(predictive)
    # A loop over components needs S x n numbers of memory instead of S x S x n.
    spread = sum(_expected_absolute(mean - mean[s], variance + variance[s]).mean(0) for s in range(len(mean)))
    return _expected_absolute(y - mean, variance).mean(0) - 0.5 * spread / len(mean)


def _coverage(pit: Tensor, level: float) -> float:
    """Return the fraction of points whose y lies inside the central interval of probability `level`."""
    return ((pit - 0.5).abs() <= level / 2).double().mean().item()


def _expected_absolute(mean: Tensor, variance: Tensor) -> Tensor:
    """Return E|Z| for Z ~ N(mean, variance)."""
    sd = variance.sqrt()
    z = mean / sd
    density = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    absolute: Tensor = mean * (2 * torch.special.ndtr(z) - 1) + 2 * sd * density
    return absolute


def moments(predictive: Regression) -> Normals:
    """Return mean and variance of the predictive per point, (n,) each, float64."""
    checks.predictive(predictive, *checks.REGRESSIONS)
    if not isinstance(predictive, Normals):
        other = distribution_of(predictive)
        return Normals(torch.as_tensor(other.mean), torch.as_tensor(other.variance))
    mean, variance = _float64(predictive)
    return Normals(mean.mean(0), variance.mean(0) + mean.var(0, correction=0))


def _float64(predictive: Normals) -> Normals:
    return Normals(*(part.double() for part in predictive))
