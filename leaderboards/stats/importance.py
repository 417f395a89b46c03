"""Importance of hyper-parameters for good results of tuning: PED-ANOVA (Watanabe et al. 2023, arXiv 2304.10255).

A hyper-parameter is important if its values among the best tenth of the trials have another distribution than among all
trials. The two densities are estimated on a grid, and their Pearson divergence is the importance. The numbers are those
of `optuna.importance`, which imports scikit-learn: that takes as long as building the pages of a small run.
"""

from collections.abc import Mapping, Sequence
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

BEST = 0.1  # share of the trials
GRID_POINTS = 50  # at most
NARROWEST = 0.5 / 1.64  # standard deviation of a kernel in grid steps: nine tenths of it are within one step
TINY = 1e-12  # added to densities, which are divided by each other


class Scale(NamedTuple):
    """Search range of a hyper-parameter, as Optuna writes a distribution as JSON.

    Attributes:
        name: `CategoricalDistribution`, `FloatDistribution` or `IntDistribution`.
        attributes: `choices`, or else `low`, `high`, `log` and `step`.
    """

    name: str
    attributes: Mapping[str, Any]

    def counts(self, values: Sequence[Any]) -> np.ndarray:
        """Return the number of values at each point of a grid over the range."""
        if self.name == "CategoricalDistribution":
            choices = self.attributes["choices"]
            return np.bincount([choices.index(value) for value in values], minlength=len(choices))
        low, high, log, step = (self.attributes[name] for name in ("low", "high", "log", "step"))
        if low == high:
            return np.array([len(values)])
        points = GRID_POINTS
        if self.name == "IntDistribution" and log:
            points = min(ceil(log2(high - low + 1)) + 1, points)
        elif step is not None:
            points = min(round((high - low) / step) + 1, points)
        low, high, places = (np.log(part) if log else np.asarray(part) for part in (low, high, values))
        nearest = np.ceil((places - low) / ((high - low) / (points - 1)) - 0.5).astype(int)
        return np.bincount(nearest.clip(0, points - 1), minlength=points)

    def density(self, values: Sequence[Any]) -> np.ndarray:
        """Return the estimated probability of each point of the grid: a mixture of kernels at values and a prior."""
        counts = self.counts(values)
        weights = np.append(counts[counts > 0], 1) / (counts.sum() + 1)
        if self.name == "CategoricalDistribution":
            kernels = np.full((len(weights), len(counts)), 1 / len(weights))
            kernels[np.arange(len(weights) - 1), np.flatnonzero(counts)] += 1
            kernels /= kernels.sum(1, keepdims=True)
        else:
            kernels = _normal_kernels(counts)
        return np.asarray(weights @ kernels) + TINY


def importances(
    space: Mapping[str, Scale], trials: Sequence[Mapping[str, Any]], losses: np.ndarray
) -> dict[str, float]:
    """Return the importance of each hyper-parameter; they sum to 1.

    Args:
        space: hyper-parameter name -> search range, the same for all trials.
        trials: the hyper-parameters of each trial.
        losses: (T,), objective of each trial, finite; lower is better.
    """
    best = np.flatnonzero(losses <= np.sort(losses)[ceil(BEST * len(losses)) - 1])
    divergences = {}
    for name, scale in space.items():
        values = [trial[name] for trial in trials]
        usual, good = scale.density(values), scale.density([values[place] for place in best])
        divergences[name] = float(usual @ (good / usual - 1) ** 2)
    total = sum(divergences.values())
    return {name: value / total if total else 1 / len(space) for name, value in divergences.items()}


def _normal_kernels(counts: np.ndarray) -> np.ndarray:
    """Return normals at the counted points and a wide one in the middle, restricted to the G points, (K + 1, G).

    Their width follows Scott's rule.
    """
    points, places = np.arange(len(counts)), np.flatnonzero(counts)
    weights, n = counts[places], counts.sum()
    mean = places @ weights / n
    sd = np.sqrt((places - mean) ** 2 @ weights / max(1, n - 1))
    up_to = weights.cumsum()
    first = places[np.searchsorted(up_to, n // 4, side="left")]
    third = places[min(len(places) - 1, np.searchsorted(up_to, n * 3 // 4, side="right"))]
    width = max(1.059 * min((third - first) / 1.34, sd) * n**-0.2, NARROWEST)
    centres = np.append(places, points[-1] / 2)[:, None]
    widths = np.append(np.full(len(places), width), len(points))[:, None]
    below = ndtr((np.arange(len(points) + 1) - 0.5 - centres) / widths)
    return np.asarray(np.diff(below, axis=1) / (below[:, -1:] - below[:, :1]))
