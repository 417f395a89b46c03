"""The steps of a job whose cells fit Gaussians to streams: draw, fit, compare with the truth as the stream grows."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

import datasets
from bench.engine.seeds import seed_of
from bench.experiment.estimators import ESTIMATORS
from bench.experiment.jobs import End, Job
from bench.experiment.progress import Progress, Tell
from bench.reference.distances import Target
from bench.streams.fitting import Gaussian
from bench.streams.sources import Stream, stream_of

MEASURES = ("rel_mean", "rel_cov", "w2_scaled")
CURVES = pa.schema([("n_samples", pa.int64()), *((name, pa.float64()) for name in MEASURES)])


class StreamPack:
    """The steps of a job; what one finds out about a cell goes into `found` at once.

    Every estimator sees the same stream of a split: its seed does not depend on the method.
    """

    def __init__(self, job: Job, device: torch.device, found: list[dict[str, Any]], tell: Tell):
        self.cells, self.found, self.device = job.cells, found, device
        first = job.cells[0]
        dataset = datasets.load(first.dataset, job.data_dir)
        self.source = datasets.entry(first.dataset)
        splits = [dataset.splits[cell.split] for cell in job.cells]
        for own, cell, split in zip(found, job.cells, splits, strict=True):
            own |= {
                "task": self.source.task,
                "n_train": len(split.train),
                "n_test": len(split.test),
                "n_ood": len(dataset.ood),
                "data_sha256": dataset.data_sha256,
                "split_sha256": dataset.split_sha256[cell.split],
            }
        seeds = [seed_of(cell.fold_seed, "stream") for cell in job.cells]
        self.stream = stream_of(self.source, dataset, splits, seeds)
        self.length = min(first.protocol.stream_length, self.source.max_length or first.protocol.stream_length)
        self.fitting = ESTIMATORS[first.method].load()(
            self.source.n_features,
            self.source.n_factors,
            [cell.fit_seed for cell in job.cells],
            self.stream.dtype,
            self.device,
        )
        self.watch = Progress(1, tell).next_stack(self.length)

    def go(self) -> list[End]:
        """Fit every cell's stream, and measure the fits at each of `counts`."""
        curves: list[list[dict[str, float]]] = [[] for _ in self.cells]
        absorbing = 0.0
        for count, vectors in pieces(self.stream, counts(self.length)):
            started = self._now()
            self.fitting.absorb(vectors)
            absorbing += self._now() - started
            self.watch(count)
            if count in counts(self.length):
                started = self._now()
                estimates = self.fitting.estimates()
                estimating = self._now() - started
                for curve, target, estimate in zip(curves, self.stream.targets, estimates, strict=True):
                    curve.append({"n_samples": count} | distances(target, estimate))
        for own in self.found:
            own |= {
                "n_weights": self.source.n_features,
                "n_parameters": self.fitting.n_parameters,
                "fit_seconds": (absorbing + estimating) / len(self.cells),  # as if measured at the end alone
            }
        return [self._end(own, curve) for own, curve in zip(self.found, curves, strict=True)]

    def _end(self, own: dict[str, Any], curve: list[dict[str, float]]) -> End:
        tables = {"curves": pa.Table.from_pylist(curve, schema=CURVES)}
        if not np.isfinite(list(curve[-1].values())).all():
            return End("diverged", "the last estimate holds numbers that are not finite", tables)
        own |= {name: value for name, value in curve[-1].items() if name != "n_samples"}
        return End("ok", None, tables)

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def counts(length: int) -> list[int]:
    """After how many vectors to measure: 100, 200, 500, 1000, ... below the length, and there (Figure 4.1)."""
    grid = (first * 10**power for power in range(2, len(str(length))) for first in (1, 2, 5))
    return [*(count for count in grid if count < length), length]


def pieces(stream: Stream, ends: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
    """The stream up to the last of `ends`, cut at each of them: after how many vectors, and those (B, T, D) before."""
    count, blocks, block = 0, stream.blocks(), None
    for end in ends:
        while count < end:
            if block is None or not block.shape[1]:
                block = next(blocks)
            piece, block = block[:, : end - count], block[:, end - count :]
            count += piece.shape[1]
            yield count, piece


def distances(target: Target, estimate: Gaussian) -> dict[str, float]:
    """The measures of the thesis's tables; not a number where the estimate is none."""
    if not all(np.isfinite(part).all() for part in estimate):
        return dict.fromkeys(MEASURES, float("nan"))
    values = (
        target.relative_mean(estimate.mean),
        target.relative_covariance(estimate.covariance),
        target.scaled_wasserstein(*estimate),
    )
    return dict(zip(MEASURES, values, strict=True))
