"""The one-dimensional regression task of Foong et al. (2019), with a gap between two clusters of inputs."""

from collections.abc import Mapping

import numpy as np

from lockstep_bench.datasets.records import Model, Source, Split

N_DRAWS = 10
N_CLUSTER, N_TEST = 50, 100  # training rows of each cluster, test rows in all; the paper says neither
CLUSTERS = (-1.0, -0.7), (0.5, 1.0)
NOISE_VARIANCE = 0.01
GRID = np.linspace(-2.0, 2.0, 201).round(2)
DECIMALS = 6  # of every number, so that the digest is the same on every machine
# Functions drawn from the prior have about the targets' own spread: 50 units of prior precision 5 give a variance of
# 1 + x^2 of standardised x.
PRIOR_PRECISION = 5.0


def read(contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...], np.ndarray]:
    """Return x (N, 1), y (N,), the splits, each with its own drawn rows, and a grid (n, 1) of inputs for plots."""
    draws = [_draw(seed) for seed in range(N_DRAWS)]
    size = 2 * N_CLUSTER + N_TEST
    rows = np.arange(N_DRAWS * size).reshape(N_DRAWS, size)
    splits = tuple(Split(draw[: 2 * N_CLUSTER], draw[2 * N_CLUSTER :]) for draw in rows)
    x, y = (np.concatenate(column) for column in zip(*draws, strict=True))
    return x[:, None], y, splits, GRID[:, None]


def _draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs uniformly in the two clusters, equally many in each, and y ~ N(cos(4 x + 0.8), 0.01)."""
    generator = np.random.default_rng(seed)
    counts = N_CLUSTER, N_CLUSTER, N_TEST // 2, N_TEST - N_TEST // 2
    x = np.concatenate([generator.uniform(*CLUSTERS[k % 2], size=count) for k, count in enumerate(counts)])
    x = x.round(DECIMALS)
    y = np.cos(4 * x + 0.8) + generator.standard_normal(len(x)) * NOISE_VARIANCE**0.5
    return x, y.round(DECIMALS)


SOURCE = Source(
    name="toy",
    title="One dimension with a gap",
    n_rows=N_DRAWS * (2 * N_CLUSTER + N_TEST),
    n_features=1,
    n_splits=N_DRAWS,
    split_scheme="drawn",
    n_ood=len(GRID),
    origin="Foong et al. 2019, 'In-Between' Uncertainty in Bayesian Neural Networks; as in Sparse Uncertainty "
    "Representation in Deep Learning with Inducing Weights (section 4.1)",
    licence="none needed: drawn at random by this project",
    read=read,
    suites=("toy", "posterior"),
    noise_precisions=(1 / NOISE_VARIANCE, 1 / NOISE_VARIANCE),
    model=Model(PRIOR_PRECISION, 1 / NOISE_VARIANCE, hidden=(50,)),
    notes=(
        "Inputs lie in [-1, -0.7] and [0.5, 1]; each split is a draw of its own.",
        "Prior and noise precision are given to every method; what else it has is tuned by its predictions.",
    ),
)
