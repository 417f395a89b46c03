"""Training of large networks, with the same methods as for many small networks at once.

They are trained one after the other, small ones through captured graphs (`bench.engine.graphed_series`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from lockstep_bench.bench.engine.augment import Augment
from lockstep_bench.bench.engine.graphed_series import pays, train_in_graphs
from lockstep_bench.bench.engine.minibatches import RowStream, Schedule
from lockstep_bench.bench.engine.rates import Rate
from lockstep_bench.bench.engine.replica import Data, Fit, Replica, ReplicaModel
from lockstep_bench.bench.engine.sequential_fits import SequentialFits
from lockstep_bench.bench.engine.series import Series
from lockstep_bench.bench.engine.training_record import TrainingRecord, require_scalars
from lockstep_bench.methods.base import FullBatchMethod, Method
from lockstep_bench.methods.problem import FULL_LR, Step, Task
from lockstep_bench.shared.seeds import seed_of


@torch.no_grad()
def train_sequentially(
    method: Method,
    task: Task,
    data: Data,
    fits: Sequence[Fit],
    schedule: Schedule,
    *,
    channels: int,
    augment: Augment | None = None,
    rate: Rate | None = None,
    dtype: torch.dtype = torch.float32,
    start: Tensor | None = None,
    short: torch.dtype | None = None,
    n_recorded: int = 0,
    in_pairs: bool = False,
    on_update: Callable[[int], None] = lambda update: None,
) -> SequentialFits:
    """Train image classifiers, and return the trained fits.

    Args:
        method: method of all fits.
        task: task of all fits.
        data: data of all fits.
        fits: B fits; each trains `method.members` networks.
        schedule: schedule of all fits.
        channels: number of channels of the images, which are standardised channel by channel.
        augment: function that changes the images of every minibatch at random.
        rate: schedule of the learning rate; None for a constant rate. It does not apply to methods that need a constant
            rate.
        dtype: type of weights and arithmetic.
        start: pretrained weights of all layers but the last, to start from; None for a random start.
        short: data type of minibatches' passes through the network, such as bfloat16, if it is not `dtype`.
        n_recorded: largest number of evenly spaced updates at which diagnostics are recorded.
        in_pairs: whether diagnostics are also recorded at the updates of `training_record.pairs`. Unlike in stacked
            training, the two updates of a pair see different minibatches.
        on_update: called with the number of updates done so far, over all networks.

    Raises:
        TypeError: if an update returns diagnostics that are not tensors of shape ().
    """
    series = Series.of(ReplicaModel(method, task, dtype, start, short), data, fits, channels)
    record = TrainingRecord(schedule.plan.n_updates, n_recorded, in_pairs)
    if isinstance(method, FullBatchMethod):
        posteriors = _fitted(series, schedule, on_update)
        return SequentialFits(schedule, series, tuple(posteriors), record)
    graphs = pays(series.model, data.x.device)
    train = train_in_graphs if graphs else train_singly
    states = train(series, schedule, record, augment, None if method.constant_rate else rate, on_update)
    posteriors = []
    for (number, _), state in zip(series.members, states, strict=True):
        swept = _sweep(series, number, state) if method.sweeps else state
        posteriors.append(series.model.finish(series.replicas[number], swept))
    way = "captured" if graphs else "sequential"
    return SequentialFits(schedule, series, tuple(posteriors), record, way)


def _fitted(series: Series, schedule: Schedule, on_update: Callable[[int], None]) -> list[Any]:
    """Return the posteriors of a method that gets all training rows in one call."""
    posteriors, x, y = [], series.data.x, series.data.y
    for done, (number, member) in enumerate(series.members, 1):
        fit = series.fits[number]
        rows = torch.tensor(fit.rows, device=x.device)
        posteriors.append(series.model.fit(series.replicas[number], x[rows], y[rows], seed_of(fit.seed, member, "fit")))
        on_update(done * schedule.plan.n_updates)
    return posteriors


def train_singly(
    series: Series,
    schedule: Schedule,
    record: TrainingRecord,
    augment: Augment | None,
    rate: Rate | None,
    on_update: Callable[[int], None],
) -> Iterator[Any]:
    """Train one network after the other, update by update; arguments and yielded states as of `train_in_graphs`."""
    training = _Training(series, schedule, record, augment, rate)
    for done, (number, member) in enumerate(series.members):
        before = done * schedule.plan.n_updates
        yield training.run(number, member, lambda update: on_update(before + update))  # noqa: B023 (called at once)


class _Training:
    """The updates of a series, one network at a time.

    Args:
        series: B fits.
        schedule: schedule of the updates and their minibatches.
        record: takes diagnostics.
        augment: see `train_sequentially`.
        rate: schedule of the learning rate; None for a constant one.
    """

    def __init__(
        self, series: Series, schedule: Schedule, record: TrainingRecord, augment: Augment | None, rate: Rate | None
    ):
        self._series, self._schedule, self._record = series, schedule, record
        self._augment, self._rate = augment, rate

    def run(self, number: int, member: int, on_update: Callable[[int], None]) -> Any:
        """Return the state of one network after its last update."""
        series, plan = self._series, self._schedule.plan
        model, data, fit, replica = series.model, series.data, series.fits[number], series.replicas[number]
        state = model.init(replica, series.noise(fit, member, "init"))
        stream = RowStream(fit.rows, seed_of(fit.seed, member, "rows"))
        noise, image_noise = (series.noise(fit, member, purpose) for purpose in ("update", "augment"))
        shape = model.method.batches_per_update, self._schedule.minibatch
        places = torch.arange(math.prod(shape), device=data.x.device).reshape(shape)
        for update in range(1, plan.n_updates + 1):
            index = torch.tensor(stream.take(math.prod(shape)), device=data.x.device)
            x, y = data.x[index], data.y[index]
            if self._augment:
                x = self._augment(x, image_noise)
            count = torch.tensor(float(update), dtype=model.dtype, device=data.x.device)
            step = Step(count, model.method.phase(update, plan))
            scheduled = self._scheduled(replica, update)
            state, diagnostics = model.update(scheduled, x, y, places, state, noise, step)
            if self._record.wants(update):
                require_scalars(f"{model.method.name}.update", diagnostics)
                self._record.add(update, diagnostics)
            on_update(update)
        return state

    def _scheduled(self, replica: Replica, update: int) -> Replica:
        """Return the replica with the scheduled learning rate of an update, and the unscheduled one as `full_lr`."""
        if self._rate is None or "lr" not in replica.hparams:
            return replica
        full = replica.hparams["lr"]
        lr = full * self._rate(update, self._schedule.plan)
        return replica._replace(hparams=replica.hparams | {"lr": lr, FULL_LR: full})


def _sweep(series: Series, number: int, state: Any) -> Any:
    """Return the state after `Method.sweep` has seen every training row once."""
    fit, replica = series.fits[number], series.replicas[number]
    reference, at_once = series.reference(fit), series.points_at_once
    model = series.model.with_reference(len(reference))
    for first in range(0, len(fit.rows), at_once):
        rows = torch.tensor(fit.rows[first : first + at_once], device=series.data.x.device)
        index = torch.cat([reference, rows])
        present = (torch.arange(len(index), device=rows.device) >= len(reference)).to(model.dtype)
        state = model.sweep(replica, series.data.x, series.data.y, index, present, state)
    return state
