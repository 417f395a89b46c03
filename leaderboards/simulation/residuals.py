"""Simulated leaderboards of equally good methods, drawn from the residuals of real results.

What simulated regressions cannot show is how real methods differ in spread and how heavy the tails of their results
are. Residuals are what is left of the losses after the means of methods and of data sets, or of splits, are taken away.

- Over data sets: rows of residuals, one for all methods on a data set, are drawn with replacement, each with a random
  sign. The methods are then equally good on average, and keep their spreads, tails and correlations.
- On one data set: rows of residuals of splits are drawn with replacement. What all splits of a data set have in common,
  because they share rows, is added: a normal shift with the covariance of the residuals times the ratio n_test /
  n_train, which is the correlation that Nadeau and Bengio (2003) assume.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from lockstep_bench.leaderboards.stats.comparable import comparable, comparable_on_each, request
from lockstep_bench.leaderboards.stats.ranking import losses_over_datasets, losses_over_splits
from lockstep_bench.leaderboards.stats.runs import Runs

FEWEST_SPLITS = 10  # whose residuals are taken for a sample of their distribution


class Residuals(NamedTuple):
    """Residuals of real results, after the means of methods and of data sets or splits are subtracted.

    Attributes:
        of_datasets: residuals of M methods over D data sets (D, M).
        of_splits: residuals over S splits (S, M), for each data set that has at least `FEWEST_SPLITS` splits.
        ratios: n_test / n_train of each data set in `of_splits`.
    """

    of_datasets: np.ndarray
    of_splits: list[np.ndarray]
    ratios: list[float]


def residuals(cells: pd.DataFrame, suite: str, preset: str, metric: str) -> Residuals:
    """Return the residuals of one method of each family (`stats.families`), without methods that failed on some split.

    Args:
        cells: result rows with labelled presets (`stats.summary.with_labelled_presets`).
        suite: name of the suite.
        preset: label of the preset.
        metric: a column that has a direction in which it is better.
    """
    requested = request(Runs.of(cells, suite, preset), metric)
    of_splits, ratios = [], []
    for boards in comparable_on_each(requested):
        (board,) = boards.by_dataset.values()
        losses = _finite(losses_over_splits(board, boards))
        if len(losses) >= FEWEST_SPLITS and losses.shape[1] > 1 and not np.isnan(board.ratio):
            of_splits.append(losses - losses.mean(axis=0))
            ratios.append(board.ratio)
    losses = _finite(losses_over_datasets(comparable(requested)))
    return Residuals(_centred(losses), of_splits, ratios)


def draw_over_datasets(observed: Residuals, rng: np.random.Generator) -> np.ndarray:
    """Return simulated losses (D, M) of methods that are equally good over data sets."""
    n_datasets = len(observed.of_datasets)
    rows = rng.integers(n_datasets, size=n_datasets)
    return np.asarray(observed.of_datasets[rows] * rng.choice([-1.0, 1.0], (n_datasets, 1)))


def draw_on_dataset(observed: Residuals, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return simulated losses (S, M) of methods that are equally good on the k-th data set of `Residuals.of_splits`."""
    rows = observed.of_splits[k]
    n_splits = len(rows)
    shift = rng.standard_normal(n_splits) @ rows * np.sqrt(observed.ratios[k] / (n_splits - 1))
    return np.asarray(rows[rng.integers(n_splits, size=n_splits)] + shift)


def _finite(losses: np.ndarray) -> np.ndarray:
    """Return the columns without a failure or an infinity."""
    return losses[:, np.isfinite(losses).all(axis=0)]


def _centred(losses: np.ndarray) -> np.ndarray:
    by_row = losses - losses.mean(axis=1, keepdims=True)
    return np.asarray(by_row - by_row.mean(axis=0))
