"""Streams of vectors, several side by side, and their true distributions."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.minibatches import RowStream
from lockstep_bench.bench.reference.conjugate import LinearProblem
from lockstep_bench.bench.reference.distances import GaussianTarget
from lockstep_bench.datasets import Dataset
from lockstep_bench.datasets.records import Split
from lockstep_bench.datasets.synthetic.factor_models import FactorModels
from lockstep_bench.datasets.synthetic.sgd_streams import NOISE_PRECISION, PRIOR_PRECISION, SGDIterates
from lockstep_bench.datasets.synthetic.streams import StreamSource
from lockstep_bench.shared.seeds import seed_of

BLOCK = 1000  # vectors drawn per call of the generator; another value would give other numbers
BATCH_SIZE = 100  # by default; this and the next line: SGD in the thesis, section 4.4.2.1
PRE_TRAINING_UPDATES, PRE_TRAINING_LR = 5000, 1e-3
UPDATES_PER_BLOCK = 100


class Stream(Protocol):
    """Interface of B streams of vectors of dimension D, each with its own seed.

    Attributes:
        targets: true mean and covariance of each stream.
        dtype: type of the vectors.
    """

    targets: list[GaussianTarget]
    dtype: torch.dtype

    def blocks(self) -> Iterator[Tensor]:
        """Yield the next T vectors of all streams, (B, T, D), on the CPU, until the streams end."""


class FactorStream:
    """Endless independent draws F h + c + sqrt(psi) eps from each factor model, in float32.

    Rounding to float32 changes the distances of the online estimates by a relative 1e-6 (20,000 vectors, D = 100).
    """

    dtype = torch.float32

    def __init__(self, source: FactorModels, dataset: Dataset, splits: Sequence[Split], seeds: Sequence[int]):
        models = [source.truth(dataset, split) for split in splits]
        self.targets = [GaussianTarget(model.mean, model.covariance()) for model in models]
        self._models = [[torch.tensor(part, dtype=self.dtype) for part in model] for model in models]
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def blocks(self) -> Iterator[Tensor]:
        while True:
            pairs = zip(self._models, self._generators, strict=True)
            yield torch.stack([_draw(mean, factors, variance, draws) for (mean, factors, variance), draws in pairs])


def _draw(mean: Tensor, factors: Tensor, variance: Tensor, generator: torch.Generator) -> Tensor:
    k, dim = factors.shape
    latent = torch.randn(BLOCK, k, generator=generator)
    unit = torch.randn(BLOCK, dim, generator=generator)
    return torch.addmm(mean, latent, factors).addcmul_(unit, variance.sqrt())


class SGDStream:
    """The weights after each update of SGD on each regression task, in float64.

    SGD is first run for 5,000 updates with a small learning rate and no weight decay. These updates are not part of the
    stream. The thesis describes these updates without mentioning weight decay; its notebook uses none
    (LinearRegressionSGDIterates in ayeright/swafa).

    Args:
        source: Description of the data set.
        dataset: The data set.
        splits: The regression task of each stream, as a split.
        seeds: One seed per stream.
        batch_size: M, training rows per minibatch.
    """

    dtype = torch.float64

    def __init__(
        self,
        source: SGDIterates,
        dataset: Dataset,
        splits: Sequence[Split],
        seeds: Sequence[int],
        batch_size: int = BATCH_SIZE,
    ):
        self._source, self._seeds, self._batch_size = source, seeds, batch_size
        self._length = longest(source, batch_size)
        tasks = [(dataset.x[split.train], dataset.y[split.train]) for split in splits]
        self._x, self._y = (torch.tensor(np.stack(parts)) for parts in zip(*tasks, strict=True))
        posteriors = [LinearProblem(x, y, PRIOR_PRECISION, NOISE_PRECISION).posterior() for x, y in tasks]
        self.targets = [GaussianTarget(*posterior) for posterior in posteriors]

    def blocks(self) -> Iterator[Tensor]:
        n_rows, dim = self._x.shape[1:]
        orders = [RowStream(np.arange(n_rows), seed_of(seed, "rows")) for seed in self._seeds]
        # Uniform in +- 1/sqrt(D): torch's default initialisation of a linear layer, as in the authors' code.
        starts = [np.random.default_rng(seed).uniform(-1, 1, size=dim) / np.sqrt(dim) for seed in self._seeds]
        weights = torch.tensor(np.array(starts))
        for _ in range(PRE_TRAINING_UPDATES // UPDATES_PER_BLOCK):
            weights = self._visited(weights, orders, PRE_TRAINING_LR, 0.0)[:, -1]
        for _ in range(self._length // UPDATES_PER_BLOCK):
            visited = self._visited(weights, orders, self._source.lr, self._source.weight_decay)
            weights = visited[:, -1]
            yield visited

    def _visited(self, weights: Tensor, orders: Sequence[RowStream], lr: float, weight_decay: float) -> Tensor:
        """Return the weights (B, T, D) after each of the next T updates."""
        taken = np.stack([order.take(UPDATES_PER_BLOCK * self._batch_size) for order in orders])
        rows = torch.tensor(taken).reshape(len(orders), UPDATES_PER_BLOCK, self._batch_size)
        number = torch.arange(len(orders))[:, None, None]
        x, y = self._x[number, rows], self._y[number, rows]
        # The gradient of mean (y - theta^T x)^2 is 2 (H theta - g) with H and g of the minibatch.
        curvature, pull = 2 * x.mT @ x / self._batch_size, 2 * (x.mT @ y[..., None]) / self._batch_size
        visited, current = [], weights[..., None]
        for update in range(UPDATES_PER_BLOCK):
            current = current - lr * (curvature[:, update] @ current - pull[:, update] + weight_decay * current)
            visited.append(current[..., 0])
        return torch.stack(visited, dim=1)


def longest(source: SGDIterates, batch_size: int) -> int:
    """Return the number of iterates in a stream; the number of epochs is the same for every batch size.

    Raises:
        ValueError: the data set does not define the length of its streams.
    """
    if source.max_length is None:
        raise ValueError(f"data set {source.name!r} has no max_length; a stream of SGD iterates must end")
    blocks = source.max_length * BATCH_SIZE // (batch_size * UPDATES_PER_BLOCK)
    return max(1, blocks) * UPDATES_PER_BLOCK


def stream_of(
    source: StreamSource,
    dataset: Dataset,
    splits: Sequence[Split],
    seeds: Sequence[int],
    batch_size: int = BATCH_SIZE,
) -> Stream:
    """Return the streams of a data set's splits, with one seed per split.

    `batch_size` is the size of SGD's minibatches, for streams of SGD iterates.
    """
    if isinstance(source, SGDIterates):
        return SGDStream(source, dataset, splits, seeds, batch_size)
    assert isinstance(source, FactorModels)
    return FactorStream(source, dataset, splits, seeds)
