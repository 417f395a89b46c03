"""Annealing of the KL divergence from the prior: its weight is zero at first, then grows linearly to one.

With the full divergence from the start, a posterior over many weights may never fit the data. The lengths of both
stages are in proportion to those of "Sparse Uncertainty Representation in Deep Learning with Inducing Weights", where
training takes 200 epochs.
"""

from typing import NamedTuple, cast

from torch import Tensor

from lockstep_bench.methods.base import Plan
from lockstep_bench.methods.problem import Step

QUIET_EPOCHS, RAMP_EPOCHS = 100, 50
QUIET_PART, RAMP_PART = 1 / 2, 1 / 4  # fractions of training, used where they are shorter


class Annealing(NamedTuple):
    """Lengths of the annealing, as the phase that all updates share, so that their CUDA graph is captured once.

    Attributes:
        quiet: number of updates without the divergence.
        ramp: number of updates in which its weight then grows to one.
    """

    quiet: float
    ramp: float

    @classmethod
    def over(cls, plan: Plan) -> "Annealing":
        """Return the lengths of the annealing for a training plan, in proportion to its number of updates."""
        return cls(
            min(QUIET_EPOCHS * plan.updates_per_epoch, QUIET_PART * plan.n_updates),
            min(RAMP_EPOCHS * plan.updates_per_epoch, RAMP_PART * plan.n_updates),
        )


def weight(step: Step) -> Tensor:
    """Return the weight of the divergence, (), at an update whose phase is an `Annealing`."""
    annealing = cast(Annealing, step.phase)
    return ((step.count - annealing.quiet) / annealing.ramp).clamp(0, 1)
