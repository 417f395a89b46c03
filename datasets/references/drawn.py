"""Drawn regressions of the posteriors of networks, of one, two and five inputs."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from lockstep_bench.datasets.records import Source, Split
from lockstep_bench.datasets.synthetic import toy

N_TRAIN, N_TEST = 100, 100
DECIMALS = 6  # of every number, so that the digest is the same on every machine
SEED = 2026

Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray | float]]  # x (N, P) -> mean and sd of y


def wave(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean sin(3 x) and standard deviation 0.1 + 0.4 / (1 + exp(-3 x)) of y, for x (N, 1) in [-2, 2]."""
    return np.sin(3 * x[:, 0]), 0.1 + 0.4 / (1 + np.exp(-3 * x[:, 0]))


def ripple(x: np.ndarray) -> tuple[np.ndarray, float]:
    """Return mean sin(2 |x|^2) and standard deviation 0.2 of y, for x (N, 2) in [-1.5, 1.5]^2."""
    return np.sin(2 * np.square(x).sum(1)), 0.2


def friedman(x: np.ndarray) -> tuple[np.ndarray, float]:
    """Return mean and standard deviation of y in Friedman 1991, eq. 61, for the five inputs x (N, 5) that matter."""
    first = 10 * np.sin(np.pi * x[:, 0] * x[:, 1])
    return first + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4], 1.0


def read(
    function: Function, low: float, high: float, n_features: int, contents: Mapping[str, bytes]
) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return x, y and one split of rows whose inputs are uniform between `low` and `high`, with Gaussian noise."""
    generator = np.random.default_rng(SEED)
    x = generator.uniform(low, high, size=(N_TRAIN + N_TEST, n_features)).round(DECIMALS)
    mean, sd = function(x)
    y = (mean + sd * generator.standard_normal(len(x))).round(DECIMALS)
    return x, y, (Split(np.arange(N_TRAIN), N_TRAIN + np.arange(N_TEST)),)


def _source(title: str, function: Function, low: float, high: float, n_features: int, origin: str) -> Source:
    return Source(
        name=function.__name__,
        title=title,
        n_rows=N_TRAIN + N_TEST,
        n_features=n_features,
        n_splits=1,
        split_scheme="drawn",
        origin=origin,
        licence="none needed: drawn at random by this project",
        read=partial(read, function, low, high, n_features),
    )


def sources() -> dict[str, Source]:
    """Return the descriptions of the drawn sets by name. They are not registered under these names."""
    ours = "this project"
    drawn = (
        _source("Wave of growing noise", wave, -2.0, 2.0, 1, ours),
        _source("Rings in the plane", ripple, -1.5, 1.5, 2, ours),
        _source(
            "Friedman's five inputs", friedman, 0.0, 1.0, 5, "Friedman 1991, Multivariate adaptive regression splines"
        ),
    )
    return {"gap": toy.SOURCE, **{source.name: source for source in drawn}}
