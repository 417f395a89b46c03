"""Evaluation of estimators that fit a Gaussian to a stream of vectors: distance to the true moments over time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.scoring import diverged
from lockstep_bench.bench.experiment.estimators import ESTIMATORS
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.reference.distances import GaussianTarget
from lockstep_bench.bench.results.record import FitFacts, Outcome
from lockstep_bench.bench.streams.fitting import FittedGaussian, Fitting
from lockstep_bench.bench.streams.sources import Stream, longest, stream_of
from lockstep_bench.datasets.synthetic.sgd_streams import SGDIterates
from lockstep_bench.datasets.synthetic.streams import StreamSource
from lockstep_bench.shared.schema import CURVES, POSTERIORS
from lockstep_bench.shared.seeds import seed_of

MEASURES = tuple(CURVES.names[1:])
SHOWN = 2  # dimension of the vectors that a figure shows
KEPT = 1000  # vectors and draws that are kept for it


class StreamEvaluation:
    """Evaluation of an estimator on the streams of all cells of a job, side by side.

    All estimators see the same stream of a split, because its seed does not depend on the estimator.

    Args:
        job: The cells: one estimator on several splits of a data set.
        device: The torch device on which estimators run.
        on_progress: Is called now and then with the progress of the job.
    """

    def __init__(self, job: Job, device: torch.device, on_progress: OnProgress):
        self._assignment, self._on_progress = Assignment.of(job, device), on_progress

        assert isinstance(self._assignment.source, StreamSource)  # the only kind of data set in suites of streams
        self._source, self._protocol = self._assignment.source, self._assignment.protocol

    @cached_property
    def stream(self) -> Stream:
        """The streams of all cells."""
        assignment = self._assignment
        seeds = [seed_of(each.fold_seed, "stream") for each in assignment.seeded]
        return stream_of(self._source, assignment.dataset, assignment.splits, seeds, self._protocol.stream_batch)

    @property
    def length(self) -> int:
        """Number of vectors in each stream."""
        if not isinstance(self._source, SGDIterates):
            return self._protocol.stream_length
        return min(self._protocol.stream_length, longest(self._source, self._protocol.stream_batch))

    @cached_property
    def fitting(self) -> Fitting:
        """The estimator, with its state for all cells."""
        made: Fitting = ESTIMATORS[self._assignment.method_name].load()(
            self._source.n_features,
            self._source.n_factors,
            [each.fit_seed for each in self._assignment.seeded],
            self.stream.dtype,
            self._assignment.device,
            self._protocol.window,
        )
        return made

    def run(self) -> Iterator[list[Outcome]]:
        """Fit the estimator to every cell's stream, and measure its distance to the truth at each of `counts`."""
        known = [Outcome(data=self._assignment.facts(place)) for place in range(len(self._assignment.splits))]
        yield known
        fitting, device = self.fitting, self._assignment.device
        on_update = ProgressReporter(1, self._on_progress).next_stack(self.length)
        curves: list[list[dict[str, float]]] = [[] for _ in known]
        seen: list[Tensor] = []
        absorbing = 0.0
        for count, vectors in pieces(self.stream, counts(self.length)):
            started = now(device)
            fitting.absorb(vectors)
            absorbing += now(device) - started
            if self._source.n_features == SHOWN:
                seen.append(vectors)
            on_update(count)
            if count in counts(self.length):
                started = now(device)
                estimates = fitting.estimates()
                estimating = now(device) - started
                for curve, target, estimate in zip(curves, self.stream.targets, estimates, strict=True):
                    curve.append({"n_samples": count} | distances(target, estimate))
        fit = FitFacts(
            fit_seconds=(absorbing + estimating) / len(known),  # as if only the last estimate were computed
            n_weights=self._source.n_features,
            n_parameters=fitting.n_parameters,
            execution=fitting.execution,
        )
        fitted = [replace(each, fit=fit) for each in known]
        outcomes = [_outcome(*each) for each in zip(fitted, curves, self.stream.targets, estimates, strict=True)]
        if seen:
            fitted_to = fitting.fitted_to(torch.cat(seen, dim=1)).numpy()
            outcomes = [
                replace(outcome, tables={**outcome.tables, "posteriors": _posteriors(*each)})
                for outcome, *each in zip(outcomes, self.stream.targets, estimates, fitted_to, strict=True)
            ]
        yield outcomes


def _outcome(
    known: Outcome, curve: list[dict[str, float]], target: GaussianTarget, estimate: FittedGaussian
) -> Outcome:
    """Return a cell's outcome; its metrics are the last values of the curve, those of the last estimate."""
    tables = {"curves": pa.Table.from_pylist(curve, schema=CURVES)}
    measures = {name: value for name, value in curve[-1].items() if name != "n_samples"}
    if not np.isfinite(list(measures.values())).all():
        return diverged(known, "the last estimate holds numbers that are not finite", tables)
    single = target.scaled_wasserstein_single(*estimate)
    fit = known.trained_fit.with_diagnostics(w2_scaled_single=single)
    return replace(known, status="ok", fit=fit, metrics=measures, tables=tables)


def _posteriors(target: GaussianTarget, estimate: FittedGaussian, vectors: np.ndarray) -> pa.Table:
    """Return the true and the fitted Gaussian as a table `POSTERIORS`, with draws of both.

    Draws of the fitted Gaussian are the vectors that it was fitted to.

    Args:
        target: the true distribution.
        estimate: the fitted one.
        vectors: (T, D), vectors of the stream; if there are more than `KEPT`, evenly spaced ones are stored.
    """
    generator = np.random.default_rng(0)
    draws = generator.multivariate_normal(target.mean, target.covariance, size=KEPT, method="cholesky")
    kept = vectors[:: max(1, -(-len(vectors) // KEPT))]
    rows = [
        {"who": "method", "mean": estimate.mean, "covariance": estimate.covariance.ravel(), "draws": kept.ravel()},
        {"who": "truth", "mean": target.mean, "covariance": target.covariance.ravel(), "draws": draws.ravel()},
    ]
    return pa.Table.from_pylist(rows, schema=POSTERIORS)


def counts(length: int) -> list[int]:
    """Return the numbers of vectors after which to measure: 100, 200, 500, 1000, ..., length (thesis, Figure 4.1)."""
    grid = (first * 10**power for power in range(2, len(str(length))) for first in (1, 2, 5))
    return [*(count for count in grid if count < length), length]


def pieces(stream: Stream, ends: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
    """Yield the stream in pieces (B, T, D), each with the number of vectors up to its end.

    A piece ends after each of `ends` vectors; there may be further pieces between these.
    """
    count, blocks, block = 0, stream.blocks(), None
    for end in ends:
        while count < end:
            if block is None or not block.shape[1]:
                block = next(blocks)
            piece, block = block[:, : end - count], block[:, end - count :]
            count += piece.shape[1]
            yield count, piece


def distances(target: GaussianTarget, estimate: FittedGaussian) -> dict[str, float]:
    """Return the distances of an estimate from the true Gaussian that the thesis's tables show, by name.

    They are NaN if the estimate is not finite.
    """
    if not all(np.isfinite(part).all() for part in estimate):
        return dict.fromkeys(MEASURES, float("nan"))
    values = (
        target.relative_mean(estimate.mean),
        target.relative_covariance(estimate.covariance),
        target.scaled_wasserstein(*estimate),
    )
    return dict(zip(MEASURES, values, strict=True))
