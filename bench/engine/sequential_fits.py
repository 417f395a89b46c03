"""Predictions and diagnostics of large networks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import tree_map
from lockstep_bench.bench.engine.replica import Fit
from lockstep_bench.bench.engine.series import Series
from lockstep_bench.bench.engine.training_record import Trace, TrainingRecord
from lockstep_bench.bench.engine.vectorise import numbers_in
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.predictive import Predictive


@dataclass(frozen=True)
class SequentialFits:
    """Trained fits of large networks, each with its own posterior; implements `bench.engine.trained.TrainedFits`.

    Attributes:
        schedule: number of updates and minibatches of each fit.
        series: the fits and their data.
        posteriors: the posterior (value of `Method.finish`) of each network in `series.members`.
        record: diagnostics recorded during training.
        execution: how the networks were trained, one of `shared.schema.EXECUTIONS`.
    """

    schedule: Schedule
    series: Series
    posteriors: tuple[Any, ...]
    record: TrainingRecord
    execution: str = "sequential"

    @property
    def method(self) -> Method:
        return self.series.model.method

    @property
    def fits(self) -> Sequence[Fit]:
        return self.series.fits

    @property
    def n_parameters(self) -> int:
        return numbers_in(self.posteriors) // len(self.fits)

    @property
    def n_weights(self) -> int:
        return self.series.model.network.dim

    @torch.no_grad()
    def predict(self, rows: Sequence[np.ndarray], n_samples: int, x: Tensor | None = None) -> Iterator[Predictive]:
        inputs = self.series.data.x if x is None else x
        members = self.method.members
        per_member = math.ceil(n_samples / members)
        for fit, fit_rows in zip(range(len(self.fits)), rows, strict=True):
            index = torch.tensor(fit_rows, device=inputs.device)
            networks = range(fit * members, (fit + 1) * members)
            yield _joined([self._predict(network, inputs, index, per_member) for network in networks], dim=0)

    def sampling(self) -> "SequentialFits":
        return replace(self, series=replace(self.series, model=self.series.model.sampling()))

    def moments(self) -> None:
        """Return None, because the covariance (D, D) of a large network's weights would not fit into memory."""
        return

    @torch.no_grad()
    def diagnostics(self) -> list[dict[str, float]]:
        reported: list[list[dict[str, Tensor]]] = [[] for _ in self.fits]
        for (number, _), posterior in zip(self.series.members, self.posteriors, strict=True):
            reported[number].append(self.series.model.diagnostics(self.series.replicas[number], posterior))
        return [
            {name: float(torch.stack([values[name] for values in members]).mean()) for name in members[0]}
            for members in reported
        ]

    def training_diagnostics(self) -> list[dict[str, Trace]]:
        return self.record.traces(len(self.fits), self.method.members)

    def _predict(self, network: int, x: Tensor, index: Tensor, n_samples: int) -> Predictive:
        """Return one member's predictive; samples do not depend on how many points are predicted together."""
        series = self.series
        number, member = series.members[network]
        fit, replica, posterior = series.fits[number], series.replicas[number], self.posteriors[network]
        reference = series.data.x[series.reference(fit)]
        model = series.model.with_reference(len(reference))

        def predict(pixels: Tensor, first: int, count: int) -> Predictive:
            noise = series.noise(fit, member, "predict", first)
            predictive = model.predict(replica, posterior, torch.cat([reference, pixels]), noise, count)
            predicted: Predictive = tree_map(lambda part: part[:, len(reference) :], predictive)
            return predicted

        # Several samples of a large network's weights at once would cost memory and gain nothing.
        at_once = n_samples if self.method.one_pass else 1
        if at_once == 1 and len(predict(x[index[:1]], 0, 2)[0]) == 1:
            n_samples = 1  # a point estimate
        samples = [
            _joined([predict(x[part], first, at_once) for part in torch.split(index, series.points_at_once)], dim=1)
            for first in range(0, n_samples, at_once)
        ]
        return _joined(samples, dim=0)


def _joined(parts: Sequence[Predictive], dim: int) -> Predictive:
    joined: Predictive = tree_map(lambda *pieces: torch.cat(pieces, dim=dim), *parts)
    return joined
