"""Interface of trained fits, which stacked and sequential training share."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from torch import Tensor

from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.replica import Fit
from lockstep_bench.bench.engine.training_record import Trace, TrainingRecord
from lockstep_bench.methods.base import Method
from lockstep_bench.methods.maths.predictive import Predictive


class TrainedFits(Protocol):
    """B trained fits of one method on one task, in the order in which they were given."""

    @property
    def method(self) -> Method:
        """The method of all fits."""

    @property
    def fits(self) -> Sequence[Fit]:
        """The B fits."""

    @property
    def schedule(self) -> Schedule:
        """Number of updates and minibatches of each fit."""

    @property
    def record(self) -> TrainingRecord:
        """Diagnostics along training, and the time that computing them took."""

    @property
    def execution(self) -> str:
        """The way in which the fits were trained, one of `shared.schema.EXECUTIONS`."""

    @property
    def n_parameters(self) -> int:
        """Numbers stored in one fit's posterior, all members together."""

    @property
    def n_weights(self) -> int:
        """D, the number of weights of the network."""

    def predict(self, rows: Sequence[np.ndarray], n_samples: int, x: Tensor | None = None) -> Iterator[Predictive]:
        """Yield each fit's predictive at its own rows, members pooled.

        Args:
            rows: one index array per fit.
            n_samples: S, samples per fit; an ensemble of m members draws ceil(S / m) from each.
            x: (N', P), the inputs that `rows` index; by default those of the training data.

        Yields:
            For each fit a predictive at len(rows) points, in original units, on the data's device.
        """

    def sampling(self) -> "TrainedFits":
        """Return the same fits. They predict with weight samples even if `mean_network` is true (`Method.sampling`)."""

    def moments(self) -> list[tuple[Tensor, Tensor]] | None:
        """Return mean (D,) and covariance (D, D) of each fit's weights; None where there is no closed form."""

    def diagnostics(self) -> list[dict[str, float]]:
        """Return what the method reports of each final fit, averaged over its members: name -> value."""

    def training_diagnostics(self) -> list[dict[str, Trace]]:
        """Return what the method's updates reported of each fit, averaged over its members: name -> trace.

        Only fits that were trained with `n_recorded` have traces.
        """
