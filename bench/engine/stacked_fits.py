"""Predictions, moments and diagnostics of fits that were trained together as a stack."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import tree_map
from lockstep_bench.bench.engine.replica import Fit, Replica
from lockstep_bench.bench.engine.stack import Stack, side_by_side
from lockstep_bench.bench.engine.training_record import Trace, TrainingRecord
from lockstep_bench.bench.engine.vectorise import numbers_in, replica_of
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.maths.predictive import Predictive

PREDICTIVE_NUMBERS = 1 << 15  # samples x points x replicas evaluated at once, to stay in the caches


@dataclass(frozen=True)
class StackedFits:
    """Trained fits whose networks were trained together; implements `bench.engine.trained.TrainedFits`.

    Attributes:
        fits: the B fits.
        schedule: number of updates and minibatches of each fit.
        stack: the R networks (replicas) of the fits.
        posterior: the value of `Method.finish` for all replicas; tensors have a leading axis of length R.
        record: diagnostics recorded during training.
        execution: how the fits were trained, one of `shared.schema.EXECUTIONS`.
    """

    fits: tuple[Fit, ...]
    schedule: Schedule
    stack: Stack
    posterior: Any
    record: TrainingRecord
    execution: str

    @property
    def method(self) -> Method:
        return self.stack.model.method

    @property
    def n_parameters(self) -> int:
        return numbers_in(self.posterior) // len(self.fits)

    @property
    def n_weights(self) -> int:
        return self.stack.model.network.dim

    @torch.no_grad()
    def predict(self, rows: Sequence[np.ndarray], n_samples: int, x: Tensor | None = None) -> Iterator[Predictive]:
        stack, members = self.stack, self.method.members
        inputs = stack.data.x if x is None else x
        per_member = -(-n_samples // members)

        def predict_one(replica: Replica, posterior: Any, index: Tensor, noise: Noise) -> Predictive:
            return stack.model.predict(replica, posterior, inputs[index], noise, per_member)

        replica, posterior = tree_map(replica_of, (stack.replicas, self.posterior))
        drawn: list[int] = []  # samples of a replica, which may be fewer than asked for

        def predict_a_point(noise: Noise) -> None:
            drawn.append(len(predict_one(replica, posterior, stack.index(rows[0][:1]), noise)[0]))

        noise = next(stack.noise("predict", stack.noise_length(predict_a_point)))
        predict = stack.vectorise(
            lambda replica, posterior, index, numbers: predict_one(replica, posterior, index, Noise(numbers))
        )
        longest = max(len(index) for index in rows)
        points = min(longest, max(1, PREDICTIVE_NUMBERS // (2 * drawn[0])))
        # Two replicas at least, because a parallel stack of one is padded to two.
        group = max(1 if members > 1 else 2, PREDICTIVE_NUMBERS // (drawn[0] * points * members))
        for first in range(0, len(rows), group):
            group_rows = rows[first : first + group]
            index = stack.index(side_by_side(group_rows, longest)).repeat_interleave(members, dim=0)
            chosen = itemgetter(slice(first * members, (first + len(group_rows)) * members))
            arguments = *tree_map(chosen, (stack.replicas, self.posterior, noise)), index
            if stack.parallel and len(index) == 1:  # padded to two, as in training
                arguments = tree_map(partial(torch.repeat_interleave, repeats=2, dim=0), arguments)
            replicas, posteriors, numbers, index = arguments
            pieces = [predict(replicas, posteriors, piece, numbers) for piece in torch.split(index, points, dim=1)]
            joined = tree_map(lambda *parts: torch.cat(parts, dim=2), *pieces)
            pooled = tree_map(lambda part: part.unflatten(0, (-1, members)).flatten(1, 2), joined)
            for number, fit_rows in enumerate(group_rows):
                yield tree_map(lambda part: part[number, :, : len(fit_rows)], pooled)  # noqa: B023 (called at once)

    def sampling(self) -> "StackedFits":
        return replace(self, stack=replace(self.stack, model=self.stack.model.sampling()))

    @torch.no_grad()
    def moments(self) -> list[tuple[Tensor, Tensor]] | None:
        model, replicas = self.stack.model, self.stack.replicas
        if self.method.members > 1 or model.moments(*tree_map(replica_of, (replicas, self.posterior))) is None:
            return None
        return list(zip(*self.stack.vectorise(model.moments)(replicas, self.posterior), strict=True))

    @torch.no_grad()
    def diagnostics(self) -> list[dict[str, float]]:
        reported = self.stack.vectorise(self.stack.model.diagnostics)(self.stack.replicas, self.posterior)
        means = {
            name: values.unflatten(0, (-1, self.method.members)).mean(1).tolist() for name, values in reported.items()
        }
        return [{name: values[number] for name, values in means.items()} for number in range(len(self.fits))]

    def training_diagnostics(self) -> list[dict[str, Trace]]:
        return self.record.traces(len(self.fits), self.method.members)
