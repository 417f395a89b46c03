"""The fits that a split needs, as data: their rows, hyper-parameters and seeds, and which are trained together."""

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
    """One of the fits that score a trial (a hyper-parameter setting), for example on one fold.

    Attributes:
        train: Training rows of the fit.
        scored_on: Argument for the scorer, such as the rows that are held out.
        fold: Number of the fold, as a tuple that is part of the fit's seed; () without folds.
        settled: Hyper-parameters that the data set's Bayesian model fixes.
    """

    train: np.ndarray
    scored_on: Any
    fold: tuple[int, ...] = ()
    settled: Mapping[str, float] = {}

    def alone(self) -> list["HeldOut"]:
        """Return a list with this fit only, for trials that consist of one fit."""
        return [self]


class LargestFits(NamedTuple):
    """Numbers of training rows of the largest fit in tuning, and of the largest final fit.

    All fits that are trained together have the number of updates of the largest one. The maximum is over all splits of
    the data set, so that results do not depend on which splits are evaluated together.
    """

    trial: int
    final: int


@dataclass(frozen=True)
class SplitFits:
    """The fits that one split needs: those of its trials and the final fit.

    Attributes:
        task: The task of the split.
        inputs: Columns of the data that are inputs in this split; None for all.
        seed: Seed from which the trials and the seeds of fits follow.
        space: The search space, without the hyper-parameters in `settled`.
        held_out: Returns the fits of a trial; always the same arrays.
        train: Training rows of the final fit.
        largest: See `LargestFits`.
        n_points: Number of inputs at which the final fit predicts.
        settled: Hyper-parameters of the final fit that the data set's Bayesian model fixes.
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
        """Return the fits of split number `place` of an assignment; the other arguments are the attributes."""
        settled, split = settled or {}, assignment.splits[place]
        task, seed = assignment.tasks[place], assignment.seeded[place].fit_seed
        space = assignment.space(place, without=settled)
        return cls(task, split.inputs, seed, space, held_out, train, largest, n_points, settled)

    def trial(self, number: int, hparams: Mapping[str, float]) -> list[Fit]:
        """Return the fits of trial `number` with its hyper-parameters, one for each of `held_out`."""
        return [
            Fit(part.train, {**hparams, **part.settled}, seed_of(self.seed, "trial", number, *part.fold))
            for part in self.held_out()
        ]

    def final(self, hparams: Mapping[str, float]) -> Fit:
        """Return the final fit, with the chosen hyper-parameters."""
        return Fit(self.train, {**hparams, **self.settled}, seed_of(self.seed, "final"))


def stacks(splits: Sequence[SplitFits], limit: int) -> Iterator[list[int]]:
    """Divide fits into groups (stacks) that are trained together, and yield the indices of each group.

    Fits can be trained together if their networks have the same inputs, and their splits about equally many rows.

    Args:
        splits: The split of each fit.
        limit: Largest number of fits in a group.
    """
    groups: dict[tuple[LargestFits, bytes | None], list[int]] = {}
    for place, split in enumerate(splits):
        key = split.largest, None if split.inputs is None else split.inputs.tobytes()
        groups.setdefault(key, []).append(place)
    for places in groups.values():
        for first in range(0, len(places), limit):
            yield places[first : first + limit]
