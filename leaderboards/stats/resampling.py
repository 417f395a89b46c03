"""The bootstrap over data sets and, within each, over splits; every method gets the same resamples."""

import numpy as np

from leaderboards.metrics import badness
from leaderboards.stats.paired import mean_of_known

RESAMPLES = 2000
LEVEL = 0.95
FEWEST = 5  # splits: of fewer that all agree, chance alone would make as many agree more than one time in 20


def resampled_means(values: np.ndarray, rng: np.random.Generator, n: int = RESAMPLES) -> np.ndarray:
    """Means (n, M) over S rows drawn with replacement from `values` (S, M); infinities stay, NaN counts as 0."""
    counts = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=n).astype(float)
    means = counts @ np.where(np.isfinite(values), values, 0.0) / len(values)
    for infinity in (np.inf, -np.inf):
        if (values == infinity).any():
            means[counts @ (values == infinity) > 0] = infinity
    return means


def resampled_over_datasets(per_dataset: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means (n, M) over D data sets drawn with replacement: `per_dataset` (n, D, M), NaN where one says nothing.

    A mean is NaN where all data sets that were drawn say nothing of the method.
    """
    n, n_datasets, _ = per_dataset.shape
    drawn = rng.integers(n_datasets, size=(n, n_datasets))
    taken = per_dataset[np.arange(n)[:, None], drawn]
    return mean_of_known(taken, axis=1)


def enough(values: dict[str, np.ndarray]) -> bool:
    """Whether all data sets' arrays `values` (S_d, M) together have splits enough for an interval or a test."""
    return sum(map(len, values.values())) >= FEWEST


def interval(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends (M,) of the central 95 % of `draws` (n, M); NaN without any."""
    tail = (1 - LEVEL) / 2
    ends = np.full((2, draws.shape[1]), np.nan)
    for column in range(draws.shape[1]):
        own = draws[~np.isnan(draws[:, column]), column]
        if own.size:  # the nearest draw: interpolation between infinities is undefined
            ends[:, column] = np.quantile(own, [tail, 1 - tail], method="nearest")
    return ends[0], ends[1]


def resampled_losses(values: dict[str, np.ndarray], goal: str | float, rng: np.random.Generator) -> np.ndarray:
    """Losses (n, D, M) of resampled means of `values`, an array (S_d, M) for each data set."""
    return np.stack([badness(resampled_means(one, rng), goal) for one in values.values()], axis=1)
