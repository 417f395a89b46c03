"""Agreement of a method's predictive with a reference posterior's, from samples of both at the same points."""

import math

import torch
from torch import Tensor

from lockstep_bench.bench.metrics import checks
from lockstep_bench.bench.metrics.pooling import pool
from lockstep_bench.methods.maths.predictive import Classes, Normals, Predictive

REACH = 5.0  # integrals over the target extend this many standard deviations beyond the outermost component
POINTS_PER_SD, MAX_POINTS = 20, 4001  # grid of the trapezoid rule; the integrand |p - q| has kinks
COMPONENTS = 500  # at most so many mixture components; larger mixtures are thinned


def compare(predictive: Predictive, reference: Predictive) -> dict[str, float]:
    """Return measures of agreement between a predictive and a reference predictive, as means over n points.

    Args:
        predictive: S samples at n points.
        reference: S' samples of the reference posterior at the same points.

    Returns:
        `total_variation`, half the L1 distance between the two densities of the target. For classifiers also
        `agreement`, the fraction of points with the same most probable class (Izmailov et al. 2021). For regression
        also `sd_ratio`.

    Raises:
        TypeError: one predictive is for classes and the other for real numbers.
        ValueError: the predictives have different numbers of points, or wrong shapes.
    """
    n_points, n_of_reference = checks.predictive(predictive), checks.predictive(reference)
    if n_points != n_of_reference:
        raise ValueError(f"both predictives should be at the same points, got {n_points} and {n_of_reference}")
    if isinstance(predictive, Classes) and isinstance(reference, Classes):
        p, q = pool(predictive).probabilities, pool(reference).probabilities
        same = p.argmax(-1) == q.argmax(-1)
        distance = 0.5 * (p - q).abs().sum(-1)
        return {"total_variation": distance.mean().item(), "agreement": same.double().mean().item()}
    if not (isinstance(predictive, Normals) and isinstance(reference, Normals)):
        raise TypeError(f"cannot compare {type(predictive).__name__} with {type(reference).__name__} of a reference")
    return {
        "total_variation": _total_variation(_thinned(predictive), _thinned(reference)).mean().item(),
        "sd_ratio": sd_ratio(predictive.mean, reference.mean),
    }


def sd_ratio(functions: Tensor, reference: Tensor) -> float:
    """Return the ratio of two posterior standard deviations of a function, each averaged over n points.

    Args:
        functions: (S, n), function values of S posterior samples.
        reference: (S', n), function values of S' samples of the reference posterior.
    """
    return (functions.double().std(0, correction=0).mean() / reference.double().std(0, correction=0).mean()).item()


def _thinned(predictive: Normals) -> Normals:
    step = -(-len(predictive.mean) // COMPONENTS)
    return Normals(*(part[::step].double() for part in predictive))


def _total_variation(p: Normals, q: Normals) -> Tensor:
    """Return the integral of |p(y) - q(y)| / 2 over y per point, (n,), by the trapezoid rule."""
    both = Normals(*map(torch.cat, zip(p, q, strict=True)))
    reach = REACH * both.variance.sqrt()
    low, high = (both.mean - reach).amin(0), (both.mean + reach).amax(0)
    widest = ((high - low) / both.variance.sqrt().amin(0)).max().item()
    grid = torch.linspace(0, 1, min(math.ceil(POINTS_PER_SD * widest), MAX_POINTS), dtype=torch.float64)
    targets = low + grid[:, None] * (high - low)
    densities = [torch.stack([_density(mixture, y) for y in targets]) for mixture in (p, q)]
    return 0.5 * torch.trapezoid((densities[0] - densities[1]).abs(), targets, dim=0)


def _density(mixture: Normals, y: Tensor) -> Tensor:
    """Return the density at y (n,), without the checks of `bench.metrics.log_density`, for thousands of calls."""
    mean, variance = mixture
    components = -0.5 * ((y - mean) ** 2 / variance + variance.log() + math.log(2 * math.pi))
    return (torch.logsumexp(components, dim=0) - math.log(len(mean))).exp()
