"""The hierarchical bootstrap: over data sets and, within each, over splits. All methods share the same resamples."""

import numpy as np

from leaderboards.metrics import badness
from leaderboards.stats.paired import mean_of_known

RESAMPLES = 2000
LEVEL = 0.95
FEWEST_SPLITS = 5  # with fewer, chance alone makes all of them agree more often than one time in 20


def resampled_means(values: np.ndarray, rng: np.random.Generator, n: int = RESAMPLES) -> np.ndarray:
    """Return means over S rows drawn with replacement, n times. Infinities stay, NaN counts as 0.

    Args:
        values: one row per split (S, M).
        rng: source of the resamples.
        n: number of resamples.

    Returns:
        Means (n, M).
    """
    counts = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=n).astype(float)
    means = counts @ np.where(np.isfinite(values), values, 0.0) / len(values)
    for infinity in (np.inf, -np.inf):
        if (values == infinity).any():
            means[counts @ (values == infinity) > 0] = infinity
    return means


def resampled_over_datasets(per_dataset: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return means over D data sets drawn with replacement, one draw per resample.

    Args:
        per_dataset: values (n, D, M); NaN where a method has none on a data set.
        rng: source of the resamples.

    Returns:
        Means (n, M) of the values that are not NaN; NaN where none was drawn.
    """
    n, n_datasets, _ = per_dataset.shape
    drawn = rng.integers(n_datasets, size=(n, n_datasets))
    return mean_of_known(per_dataset[np.arange(n)[:, None], drawn], axis=1)


def enough(values: dict[str, np.ndarray]) -> bool:
    """Return whether all data sets' arrays (S_d, M) together have enough splits for an interval or a test."""
    return sum(map(len, values.values())) >= FEWEST_SPLITS


def interval(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends (M,) of the central 95 % of resamples (n, M); NaN for columns of NaN."""
    tail = (1 - LEVEL) / 2
    ends = np.full((2, draws.shape[1]), np.nan)
    for column in range(draws.shape[1]):
        known = draws[~np.isnan(draws[:, column]), column]
        if known.size:  # the nearest draw: interpolation between infinities is undefined
            ends[:, column] = np.quantile(known, [tail, 1 - tail], method="nearest")
    return ends[0], ends[1]


def resampled_losses(values: dict[str, np.ndarray], goal: str | float, rng: np.random.Generator) -> np.ndarray:
    """Return losses (n, D, M) of resampled means of arrays (S_d, M), one array per data set."""
    return np.stack([badness(resampled_means(array, rng), goal) for array in values.values()], axis=1)
