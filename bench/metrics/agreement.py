"""How much a predictive is like that of a reference, from samples of both at the same points."""

import math

import torch
from torch import Tensor

from bench.metrics import regression
from bench.metrics.pooling import pool
from methods.maths.predictive import Classes, Normals, Predictive

REACH = 5.0  # standard deviations beyond the outermost component that an integral over targets goes
POINTS_PER_SD, MAX_POINTS = 20, 4001  # of that integral, by the trapezoid rule: the integrand has kinks
COMPONENTS = 500  # of a mixture, thinned: its density is smooth


def compare(predictive: Predictive, reference: Predictive) -> dict[str, float]:
    """`total_variation`, mean over points of half the L1 distance between the two distributions of the target.

    Of classifiers also `agreement` (Izmailov et al. 2021); of regressions `sd_ratio`, of the functions' spread.
    """
    if isinstance(predictive, Classes):
        ours, theirs = pool(predictive).probabilities, pool(reference).probabilities
        same = ours.argmax(-1) == theirs.argmax(-1)
        distance = 0.5 * (ours - theirs).abs().sum(-1)
        return {"total_variation": distance.mean().item(), "agreement": same.double().mean().item()}
    ours, theirs = _thinned(predictive), _thinned(reference)
    return {
        "total_variation": _total_variation(ours, theirs).mean().item(),
        "sd_ratio": sd_ratio(predictive.mean, reference.mean),
    }


def sd_ratio(ours: Tensor, theirs: Tensor) -> float:
    """The standard deviation over samples of functions (S, n), mean over points, over that of others (S', n)."""
    return (ours.double().std(0, correction=0).mean() / theirs.double().std(0, correction=0).mean()).item()


def _thinned(predictive: Normals) -> Normals:
    step = -(-len(predictive.mean) // COMPONENTS)
    return Normals(*(part[::step].double() for part in predictive))


def _total_variation(ours: Normals, theirs: Normals) -> Tensor:
    """(n,): the integral of |p - q| / 2 over the target, by the trapezoid rule."""
    both = Normals(*map(torch.cat, zip(ours, theirs, strict=True)))
    reach = REACH * both.variance.sqrt()
    low, high = (both.mean - reach).amin(0), (both.mean + reach).amax(0)
    widest = ((high - low) / both.variance.sqrt().amin(0)).max().item()
    places = torch.linspace(0, 1, min(math.ceil(POINTS_PER_SD * widest), MAX_POINTS), dtype=torch.float64)
    targets = low + places[:, None] * (high - low)
    densities = [torch.stack([regression.log_density(one, y).exp() for y in targets]) for one in (ours, theirs)]
    return 0.5 * torch.trapezoid((densities[0] - densities[1]).abs(), targets, dim=0)
