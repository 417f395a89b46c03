"""Distances between a method's predictive or functions and those of a reference posterior, at the same points."""

import math

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.methods.maths.predictive import Normals

LEVELS = 2000  # quantiles by which two mixtures are compared
REACH = 6.0  # the grid of a distribution function extends this many standard deviations beyond the outermost component
GRID = 2001
COMPONENTS = 500  # at most so many mixture components; larger mixtures are thinned


def wasserstein(functions: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the 2-Wasserstein distance between the marginals of two sets of samples at each of n points, (n,).

    W^2 is the integral of (F^-1(q) - G^-1(q))^2 over q in (0, 1). It is exact for the two empirical distributions,
    which may have different numbers of samples.

    Args:
        functions: (S, n), values of S sampled functions.
        reference: (S', n), values of S' functions of the reference posterior.
    """
    ours, theirs = np.sort(functions, axis=0), np.sort(reference, axis=0)
    cuts = np.unique(np.concatenate([np.arange(1, len(part) + 1) / len(part) for part in (ours, theirs)]))
    widths = np.diff(cuts, prepend=0.0)
    middles = cuts - widths / 2
    differences = ours[(middles * len(ours)).astype(int)] - theirs[(middles * len(theirs)).astype(int)]
    distances: np.ndarray = np.sqrt(widths @ np.square(differences))
    return distances


def predictive_wasserstein(predictive: Normals, reference: Normals) -> np.ndarray:
    """Return the 2-Wasserstein distance between two mixtures of normals per point, (n,), in units of the target.

    Both are represented by `LEVELS` quantiles, which are interpolated from the distribution function on a grid.

    Args:
        predictive: S samples at n points.
        reference: S' samples at the same points.
    """
    ours, theirs = quantiles(predictive), quantiles(reference)
    distances: np.ndarray = np.sqrt(np.square(ours - theirs).mean(axis=0))
    return distances


def quantiles(mixture: Normals) -> np.ndarray:
    """Return the quantiles of a mixture of S normals at `LEVELS` equally spaced levels, (LEVELS, n)."""
    step = -(-len(mixture.mean) // COMPONENTS)
    mean, sd = mixture.mean[::step].double(), mixture.variance[::step].double().sqrt()
    low, high = (mean - REACH * sd).amin(0), (mean + REACH * sd).amax(0)
    y = low + torch.linspace(0, 1, GRID, dtype=torch.float64)[:, None] * (high - low)
    below = torch.stack([_distribution_function(at, mean, sd) for at in y]).numpy()
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    columns = zip(below.T, y.numpy().T, strict=True)
    return np.stack([np.interp(levels, share, values) for share, values in columns], axis=1)


def _distribution_function(y: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    return (0.5 * (1 + torch.erf((y - mean) / sd / math.sqrt(2)))).mean(0)


def covariance_distance(functions: np.ndarray, reference: np.ndarray) -> float:
    """Return ||C - R|| / ||R|| in the Frobenius norm, for the covariances C and R of functions between n points.

    A single function has the covariance 0 and the distance 1.

    Args:
        functions: (S, n), values of S sampled functions.
        reference: (S', n), values of S' functions of the reference posterior.
    """
    ours, theirs = (np.atleast_2d(np.cov(values.T, bias=True)) for values in (functions, reference))
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))


def function_distances(predictive: Normals, reference: Normals, joint: bool) -> dict[str, float]:
    """Return distances of a method's predictive from the reference posterior's, means over n points.

    Args:
        predictive: S samples at n points.
        reference: S' samples of the reference posterior at the same points.
        joint: whether the method's samples are functions (`methods.base.Method.joint`).

    Returns:
        `predictive_w2`, the 2-Wasserstein distance between the predictives, in standard deviations of the reference's.
        If samples are functions, also `function_w2`, that between the marginals of the functions, in standard
        deviations of the reference's functions, and `function_cov` (`covariance_distance`).
    """
    ours, theirs = predictive.mean.double().numpy(), reference.mean.double().numpy()
    spread = np.sqrt(np.square(theirs.std(axis=0)) + reference.variance.double().mean(0).numpy())
    distances = {"predictive_w2": float(np.mean(predictive_wasserstein(predictive, reference) / spread))}
    if joint:
        distances["function_w2"] = float(np.mean(wasserstein(ours, theirs) / theirs.std(axis=0)))
        distances["function_cov"] = covariance_distance(ours, theirs)
    return distances
