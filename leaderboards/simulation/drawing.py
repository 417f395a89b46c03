"""Simulated leaderboards with known expected losses, from least-squares fits on overlapping parts of finite data sets.

The correlation between splits is not put in by a formula. Each data set has N rows of M independent standard normal
features and the target y = beta sum_m x_m + noise. Method m is the least-squares regression of y on feature m alone,
fitted on the training rows of each split and scored by its mean squared error on the test rows. All methods have the
same expected loss by symmetry, splits share their rows as real splits do, and a fit is one division.

Differences that a scenario asks for are added to the losses. Their unit, "split sd", is the standard deviation over
splits of a method's loss minus the mean loss of all methods.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

N_ROWS = 200
SLOPE = 0.3
IN_FAMILY = 0.9  # correlation of the effects of two methods of a family


@dataclass(frozen=True)
class Scenario:
    """Parameters of the distribution of simulated leaderboards. Sizes are in standard deviations over splits.

    Attributes:
        name: name in words.
        effect: standard deviation of the interaction of method and data set: how much better or worse a method is on
            one data set than on average.
        gap: how much better the first methods are than the others.
        better: share of the methods that are better by the gap; at least one is.
        grades: standard deviation of the methods' expected losses, drawn once per leaderboard.
        heavy: whether noise has Student's t distribution with 3 degrees of freedom, effects that with 2, and the units
            of the data sets differ (log-normally, with standard deviation 1 of the logarithm).
        failures: probability that a cell has no value.
        unequal: how much methods differ in noise. Each method gets additional noise, whose standard deviation is drawn
            from a log-normal distribution with median 1/2 and this standard deviation of the logarithm; 0 for none.
        spread: largest factor by which the effects of a method are multiplied.
        wide: share of the methods whose effects are multiplied by `spread`; None to draw a factor from 1 to `spread`
            log-uniformly for each method.
        families: number of families whose methods have equal factors and effects of correlation 0.9; 0 for none.
        scale: factor on all losses of the first data set, relative to those of the others.
    """

    name: str
    effect: float = 0.0
    gap: float = 0.0
    better: float = 0.0
    grades: float = 0.0
    heavy: bool = False
    failures: float = 0.0
    unequal: float = 0.0
    spread: float = 1.0
    wide: float | None = None
    families: int = 0
    scale: float = 1.0


class BoardSize(NamedTuple):
    """Size of a simulated leaderboard.

    Attributes:
        methods: M, number of methods.
        datasets: D, number of data sets.
        splits: S, number of splits of each data set.
        overlap: share of the rows that a split trains on; two training parts have this share of their rows in common.
    """

    methods: int = 32
    datasets: int = 4
    splits: int = 5
    overlap: float = 0.9

    @property
    def ratio(self) -> float:
        """The ratio n_test / n_train, which measures how much splits depend on each other (`stats.dependence`)."""
        n_test = round(N_ROWS * (1 - self.overlap))
        return n_test / (N_ROWS - n_test)


class Drawn(NamedTuple):
    """A simulated leaderboard, with the true expected losses of its methods.

    Attributes:
        losses: losses on D data sets x S splits x M methods (D, S, M), NaN for failures.
        truth: expected losses over data sets, up to a constant (M,).
        on_datasets: expected losses on each data set, up to a constant for each (D, M).
    """

    losses: np.ndarray
    truth: np.ndarray
    on_datasets: np.ndarray


def draw(scenario: Scenario, size: BoardSize, rng: np.random.Generator) -> Drawn:
    """Return a leaderboard that is drawn at random from a scenario, with its true expected losses."""
    losses = _losses(size, scenario.heavy, rng)
    unit = split_sd(size, scenario.heavy)
    if scenario.unequal:
        spread = 0.5 * unit * np.exp(scenario.unequal * rng.standard_normal(size.methods))
        losses += spread * rng.standard_normal(losses.shape)
    truth = scenario.grades * unit * rng.standard_normal(size.methods)
    truth[: max(1, round(scenario.better * size.methods))] -= scenario.gap * unit
    on_datasets = truth + scenario.effect * unit * _effects(scenario, size, rng)
    losses += on_datasets[:, None]
    scales = np.exp(rng.standard_normal(size.datasets)) if scenario.heavy else np.ones(size.datasets)
    scales[0] *= scenario.scale
    losses, on_datasets = losses * scales[:, None, None], on_datasets * scales[:, None]
    losses[rng.random(losses.shape) < scenario.failures] = np.nan
    return Drawn(losses, truth, on_datasets)


def _effects(scenario: Scenario, size: BoardSize, rng: np.random.Generator) -> np.ndarray:
    """Return the effects (D, M) of methods on data sets, in units of `Scenario.effect`."""

    def drawn(n: int) -> np.ndarray:
        shape = (size.datasets, n)
        return rng.standard_t(2, shape) if scenario.heavy else rng.standard_normal(shape)

    n_factors = scenario.families or size.methods
    family = np.arange(size.methods) % n_factors
    if scenario.wide is None:
        factors = scenario.spread ** rng.random(n_factors)
    else:
        factors = np.where(np.arange(n_factors) < round(scenario.wide * n_factors), scenario.spread, 1.0)
    effects = drawn(size.methods)
    if scenario.families:
        effects = np.sqrt(IN_FAMILY) * drawn(n_factors)[:, family] + np.sqrt(1 - IN_FAMILY) * effects
    return np.asarray(effects * factors[family])


@lru_cache(maxsize=64)
def split_sd(size: BoardSize, heavy: bool) -> float:
    """Return the standard deviation over splits of a method's loss minus the methods' mean, from 200 data sets."""
    losses = _losses(size._replace(datasets=200, splits=max(size.splits, 2)), heavy, np.random.default_rng(0))
    own = losses - losses.mean(axis=2, keepdims=True)
    return float(np.sqrt(own.var(axis=1, ddof=1).mean() * size.methods / (size.methods - 1)))


def _losses(size: BoardSize, heavy: bool, rng: np.random.Generator) -> np.ndarray:
    """Return the mean squared errors (D, S, M) of the regressions on the test rows of each split."""
    n_methods, n_datasets, n_splits, overlap = size
    n_test = round(N_ROWS * (1 - overlap))
    x = rng.standard_normal((n_datasets, N_ROWS, n_methods))
    noise_shape = (n_datasets, N_ROWS, 1)
    noise = rng.standard_t(3, noise_shape) if heavy else rng.standard_normal(noise_shape)
    y = SLOPE * x.sum(axis=2, keepdims=True) + noise
    tested = np.zeros((n_datasets, n_splits, N_ROWS))
    order = np.argsort(rng.random(tested.shape), axis=2)
    np.put_along_axis(tested, order[:, :, :n_test], 1.0, axis=2)
    xy, xx = x * y, x * x
    test_xy, test_xx = tested @ xy, tested @ xx
    slopes = (xy.sum(axis=1, keepdims=True) - test_xy) / (xx.sum(axis=1, keepdims=True) - test_xx)
    squares: np.ndarray = tested @ (y * y) - 2 * slopes * test_xy + slopes**2 * test_xx
    return squares / n_test
