"""Interface of trained fits, which stacked and sequential training have in common."""

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
        """Diagnostics recorded during training, and the time that computing them took."""

    @property
    def execution(self) -> str:
        """How the fits were trained, for example natively compiled: one of `shared.schema.EXECUTIONS`."""

    @property
    def n_parameters(self) -> int:
        """Number of parameters in the posterior of one fit, summed over the members of an ensemble."""

    @property
    def n_weights(self) -> int:
        """D, the number of weights of the network."""

    def predict(self, rows: Sequence[np.ndarray], n_samples: int, x: Tensor | None = None) -> Iterator[Predictive]:
        """Yield the predictive of each fit at its own rows; the members of an ensemble are pooled.

        Args:
            rows: row numbers at which each fit predicts, one array per fit.
            n_samples: S, samples per fit; an ensemble of m members draws ceil(S / m) samples from each.
            x: (N', P), the inputs that `rows` index; by default those of the training data.

        Yields:
            For each fit a predictive at len(rows) points, in original units, on the data's device.
        """

    def sampling(self) -> "TrainedFits":
        """Return the same fits, which then predict with weight samples even if `mean_network` is true."""

    def moments(self) -> list[tuple[Tensor, Tensor]] | None:
        """Return mean (D,) and covariance (D, D) of each fit's weights; None where there is no closed form."""

    def diagnostics(self) -> list[dict[str, float]]:
        """Return the method's diagnostics of each trained fit, averaged over its members: name -> value."""

    def training_diagnostics(self) -> list[dict[str, Trace]]:
        """Return the diagnostics of each fit during training, averaged over its members: name -> trace.

        A trace holds the recorded updates and values. Only fits that were trained with `n_recorded` have traces.
        """
