"""Learning-rate schedules of large networks: functions that give the factor of the learning rate at an update."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from lockstep_bench.methods.base import Plan

# (number of the update, from 1; length of training) -> factor of the learning rate
Rate = Callable[[int, Plan], float]


def cosine(update: int, plan: Plan) -> float:
    """Return a factor that falls from 1 along half a cosine, to zero after the last update."""
    return 0.5 + 0.5 * math.cos(math.pi * (update - 1) / plan.n_updates)


@dataclass(frozen=True)
class Steps:
    """Step schedule: a factor that falls at milestones and is constant between them.

    Attributes:
        milestones: numbers of epochs after which the learning rate falls.
        divisor: number by which the learning rate is divided at each milestone.
    """

    milestones: tuple[int, ...]
    divisor: float

    def __call__(self, update: int, plan: Plan) -> float:
        """Return the factor of an update."""
        epochs_done = (update - 1) / plan.updates_per_epoch
        return float(self.divisor) ** -sum(epochs_done >= milestone for milestone in self.milestones)
