"""Linear regressions with an exact posterior, compared with the iterates of SGD (Brownlie 2022, section 4.4.2).

There are ten tasks y = theta^T x + noise of precision beta, with the prior N(0, I / alpha) on theta, and two inputs of
unit variance and covariance 1/2. An estimator sees a stream: the iterates of SGD at a constant learning rate. The
learning rate and the weight decay lambda are part of a data set's name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lockstep_bench.datasets.records import Split
from lockstep_bench.datasets.synthetic.streams import StreamSource

PRIOR_PRECISION = 0.01  # alpha
NOISE_PRECISION = 0.1  # beta
N_TASKS = 10
N_TRAIN, N_TEST = 1000, 100  # the thesis has no test rows
N_ITERATES = 1000  # 100 epochs of 10 minibatches
DECIMALS = 6  # of every number, so that the sets' digests are the same on every machine
SEED = 2022  # the year of the thesis; any fixed number would do


@dataclass(frozen=True, kw_only=True)
class SGDIterates(StreamSource):
    """Regression tasks, one per split, whose streams are the iterates of SGD.

    SGD minimises the mean squared error with weight decay,

        mean (y - theta^T x)^2 + (weight_decay / 2) |theta|^2,

    as the thesis's code does, with the weight decay of torch's SGD. The text of the thesis (eq. 4.42) has weight_decay
    |theta|^2, and the sum of squares instead of the mean; see docs/errata.md.

    Attributes:
        lr: constant learning rate.
        weight_decay: lambda of the thesis.
    """

    lr: float
    weight_decay: float


def read(contents: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, tuple[Split, ...]]:
    """Return the rows of all tasks, x (N_TASKS (N_TRAIN + N_TEST), 2) and y, and a split for each task.

    `contents` is empty, because the data are drawn, not read from files.
    """
    tasks = [_task(np.random.default_rng([SEED, number])) for number in range(N_TASKS)]
    x, y = (np.concatenate(parts).round(DECIMALS) for parts in zip(*tasks, strict=True))
    rows = np.arange(len(x)).reshape(N_TASKS, N_TRAIN + N_TEST)
    return x, y, tuple(Split(task[:N_TRAIN], task[N_TRAIN:]) for task in rows)


def _task(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    first, other = generator.standard_normal((2, N_TRAIN + N_TEST))
    x = np.stack([first, first / 2 + np.sqrt(3 / 4) * other], axis=1)
    theta = generator.standard_normal(2) / np.sqrt(PRIOR_PRECISION)
    return x, (x * theta).sum(1) + generator.standard_normal(len(x)) / np.sqrt(NOISE_PRECISION)


SOURCES = tuple(
    SGDIterates(
        name=f"sgd-iterates-lr{lr}-lambda{weight_decay}",
        title=f"SGD iterates, learning rate {lr}, lambda {weight_decay}",
        n_rows=N_TASKS * (N_TRAIN + N_TEST),
        n_features=2,
        n_splits=N_TASKS,
        split_scheme="drawn",
        origin="Section 4.4.2 of Brownlie 2022, Scalable Factor Analysis Algorithms for Neural Network Posterior "
        "Estimation (MSc thesis, Edinburgh), with this project's own seeds",
        licence="made by this project",
        read=read,
        notes=(
            "A split is a task; the truth is its exact posterior given the train part.",
            "The four sets of SGD iterates hold the same tasks.",
        ),
        suites=("factor-analysis",),
        n_factors=1,
        max_length=N_ITERATES,
        lr=lr,
        weight_decay=weight_decay,
    )
    for lr in (0.1, 0.01)
    for weight_decay in (0.1, 0.001)
)
