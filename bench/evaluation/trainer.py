"""Training of some fits together, under the budget of a protocol."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.stacked_training import train_stacked
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.fits import SplitFits
from lockstep_bench.bench.experiment.progress import ProgressReporter
from lockstep_bench.methods.base import Method
from lockstep_bench.shared.protocol import Protocol


@dataclass(frozen=True)
class Trainer:
    """Trains the fits of a method on one data set.

    Attributes:
        method: The method of final fits; trials train its cheaper proxy (`Method.proxy`).
        data: The data that fits are trained on.
        protocol: The budget of a fit.
        engine: Function that trains: `train_stacked` or `train_sequentially`, with the arguments that all fits share.
        limit: Largest number of fits that are trained together.
        progress: Receives the progress of training.
        sequential: True if the engine trains one network after the other, and counts the updates of all networks
            together.
        effort: Factor on the protocol's number of epochs.
    """

    method: Method
    data: Data
    protocol: Protocol
    engine: Callable[..., TrainedFits]
    limit: int
    progress: ProgressReporter
    sequential: bool = False
    effort: float = 1.0

    @property
    def device(self) -> torch.device:
        """The torch device that fits are trained on."""
        return self.data.x.device

    def train(
        self, method: Method, split: SplitFits, fits: Sequence[Fit], largest: int, n_recorded: int = 0
    ) -> TrainedFits:
        """Train fits together, and return the trained fits.

        Args:
            method: Method of the fits.
            split: The split of one of the fits.
            fits: The fits.
            largest: Number of training rows of the largest fit that may be trained together with these.
            n_recorded: Number of updates at which diagnostics are recorded, besides those that convergence is judged
                by.
        """
        data, inputs = self.data, split.inputs
        schedule = self.schedule(method, largest)
        n_networks = len(fits) * method.members if self.sequential else 1
        return self.engine(
            method,
            split.task,
            data if inputs is None else replace(data, x=data.x[:, torch.tensor(inputs)]),
            fits,
            schedule,
            n_recorded=n_recorded,
            in_pairs=n_recorded > 0,
            on_update=self.progress.next_stack(schedule.plan.n_updates * n_networks),
        )

    def schedule(self, method: Method, largest: int) -> Schedule:
        """Return the schedule (numbers of updates and minibatches) of a fit on `largest` training rows."""
        protocol, per_update = self.protocol, method.batches_per_update
        limits = protocol.max_minibatches, protocol.max_updates and protocol.max_updates * per_update
        limit = min((limit for limit in limits if limit), default=None)
        return Schedule.of(method, largest, protocol.batch_size, round(protocol.epochs * self.effort), limit)


def stacked_trainer(
    assignment: Assignment, data: Data, progress: ProgressReporter, effort: float = 1.0, **options: Any
) -> Trainer:
    """Return the trainer that trains an assignment's fits together, as stacks.

    Args:
        assignment: The method and the splits of the data set.
        data: The data that fits are trained on.
        progress: Receives the progress of training.
        effort: See `Trainer`.
        options: Further options of `train_stacked`.
    """
    method = assignment.method
    limit = max(1, assignment.stack_rows // method.members) if method.stackable else 1
    engine = partial(train_stacked, stacked=method.stackable, **options)
    return Trainer(method, data, assignment.protocol, engine, limit, progress, effort=effort)
