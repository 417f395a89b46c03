"""The weight of the divergence during training: zero, then growing to one.

A posterior over many weights that has to pay for leaving its prior from the start may never learn to fit. The epochs
are those of "Sparse Uncertainty Representation in Deep Learning with Inducing Weights", of 200 in all.
"""

from typing import NamedTuple

from torch import Tensor

from methods.base import Plan
from methods.problem import Step

QUIET_EPOCHS, RAMP_EPOCHS = 100, 50
QUIET_PART, RAMP_PART = 1 / 2, 1 / 4  # of training where that is shorter


class Annealing(NamedTuple):
    """The phase of every update, one for all of training, so that one recording serves it.

    Attributes:
        quiet: updates without a divergence.
        ramp: updates in which its weight then grows to one.
    """

    quiet: float
    ramp: float

    @classmethod
    def over(cls, plan: Plan) -> "Annealing":
        return cls(
            min(QUIET_EPOCHS * plan.updates_per_epoch, QUIET_PART * plan.n_updates),
            min(RAMP_EPOCHS * plan.updates_per_epoch, RAMP_PART * plan.n_updates),
        )


def weight(step: Step) -> Tensor:
    """(), of the divergence at an update whose phase is an `Annealing`."""
    return ((step.count - step.phase[0]) / step.phase[1]).clamp(0, 1)
