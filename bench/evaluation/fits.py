"""The fits of a split, as data: which rows, hyper-parameters and seeds they have, and which of them share a stack."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from optuna.distributions import BaseDistribution

from lockstep_bench.bench.engine.replica import Fit
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.methods.problem import Task
from lockstep_bench.shared.seeds import seed_of


class HeldOut(NamedTuple):
    """One fit of a trial.

    Attributes:
        train: Its training rows.
        scored_on: What its scorer needs, such as the rows that are held out.
        fold: Number of the fold, in a tuple that completes the seed of the fit; () without folds.
        settled: Hyper-parameters that the model of the data set fixes.
    """

    train: np.ndarray
    scored_on: Any
    fold: tuple[int, ...] = ()
    settled: Mapping[str, float] = {}

    def alone(self) -> list["HeldOut"]:
        """Return the fits of a trial that has this one only."""
        return [self]


class LargestFits(NamedTuple):
    """Training rows of the largest fit of a trial, and of the largest final fit, that train in a stack with others.

    They set the number of updates. They are over all splits of the data set and not of the job, so that results do not
    depend on which cells share a job.
    """

    trial: int
    final: int


@dataclass(frozen=True)
class SplitFits:
    """The fits of one split.

    Attributes:
        task: The task of the split.
        inputs: Columns of the data that are its inputs; None for all.
        seed: Seed that fixes its trials and fits.
        space: The search space, without the hyper-parameters in `settled`.
        held_out: Returns the fits of a trial, always the same arrays.
        train: Training rows of the final fit.
        largest: See `LargestFits`.
        n_points: Number of inputs at which the final fit predicts.
        settled: Hyper-parameters of the final fit that the model of the data set fixes.
    """

    task: Task
    inputs: np.ndarray | None
    seed: int
    space: dict[str, BaseDistribution]
    held_out: Callable[[], Sequence[HeldOut]]
    train: np.ndarray
    largest: LargestFits
    n_points: int
    settled: Mapping[str, float]

    @classmethod
    def of(
        cls,
        assignment: Assignment,
        place: int,
        held_out: Callable[[], Sequence[HeldOut]],
        train: np.ndarray,
        largest: LargestFits,
        n_points: int,
        settled: Mapping[str, float] | None = None,
    ) -> Self:
        """Return the fits of a split of an assignment; further arguments as the attributes."""
        settled, split = settled or {}, assignment.splits[place]
        task, seed = assignment.tasks[place], assignment.seeded[place].fit_seed
        space = assignment.space(place, without=settled)
        return cls(task, split.inputs, seed, space, held_out, train, largest, n_points, settled)

    def trial(self, number: int, hparams: Mapping[str, float]) -> list[Fit]:
        """Return the fits of a trial, one for each of `held_out`."""
        return [
            Fit(part.train, {**hparams, **part.settled}, seed_of(self.seed, "trial", number, *part.fold))
            for part in self.held_out()
        ]

    def final(self, hparams: Mapping[str, float]) -> Fit:
        """Return the fit with the chosen hyper-parameters."""
        return Fit(self.train, {**hparams, **self.settled}, seed_of(self.seed, "final"))


def stacks(splits: Sequence[SplitFits], limit: int) -> Iterator[list[int]]:
    """Yield the places of the fits that train in one stack, for each stack.

    Fits share a stack if their networks have the same inputs, and their splits about equally many rows.

    Args:
        splits: The split of each fit.
        limit: The most fits of a stack.
    """
    groups: dict[tuple[LargestFits, bytes | None], list[int]] = {}
    for place, split in enumerate(splits):
        key = split.largest, None if split.inputs is None else split.inputs.tobytes()
        groups.setdefault(key, []).append(place)
    for places in groups.values():
        for first in range(0, len(places), limit):
            yield places[first : first + limit]
