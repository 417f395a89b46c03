"""The trained posterior of one fit, which predicts at new inputs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.bench.engine.stacked_fits import StackedFits
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.engine.training_record import TrainingRecord
from lockstep_bench.bench.metrics import checks
from lockstep_bench.datasets import Source
from lockstep_bench.methods.maths.predictive import Histogram, NormalMixtures, Normals, Predictive, Quantiles, StudentT
from lockstep_bench.shared.protocol import Protocol

LOCATIONS = {  # in units of the target
    Normals: "mean",
    NormalMixtures: "means",
    StudentT: "location",
    Quantiles: "values",
    Histogram: "edges",
}
NO_ROWS = np.empty(0, np.int64)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit torch to one thread in the `with` block, as in a run's worker process, for the same numbers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Posterior:
    """The posterior of one fit, without the data that it was trained on.

    Attributes:
        fits: The trained fit.
        source: Description of the training data.
        suite: Name of the suite, which determines the network.
        protocol: Training budget and settings of the fit.
        seconds: Duration of the training.
        diagnostics: Diagnostics of the fit by name, such as those of the method, and `still_improving`: whether
            training ended too early.
        offset: Number that was subtracted from the targets, and is added to predictions.
    """

    fits: StackedFits
    source: Source
    suite: str
    protocol: Protocol
    seconds: float
    diagnostics: Mapping[str, float]
    offset: float = 0.0

    @classmethod
    def of(
        cls,
        fits: TrainedFits,
        source: Source,
        suite: str,
        protocol: Protocol,
        seconds: float,
        diagnostics: Mapping[str, float],
        offset: float,
    ) -> "Posterior":
        """Return the posterior from a trained stack that holds a single fit; the other arguments are the attributes."""
        assert isinstance(fits, StackedFits)
        return cls(_without_data(fits), source, suite, protocol, seconds, diagnostics, offset)

    @property
    def hparams(self) -> Mapping[str, float]:
        """The hyper-parameters of the fit."""
        return self.fits.fits[0].hparams

    def predict(self, x: np.ndarray, n_samples: int | None = None) -> Predictive:
        """Return the predictive at new inputs, on the CPU.

        The weight samples follow from the seed of the fit. Predictions therefore do not depend on earlier calls. They
        depend on the other points in x only by rounding.

        Args:
            x: (n, P), features in the units of the training data.
            n_samples: S, number of weight samples; by default the protocol's. Methods without a distribution over
                weights return a single sample.

        Returns:
            For a regression `Normals`, with mean (S, n), float64, and variance (S, n), in original target units; with
                Student-t noise a `StudentT`. For a classification `Classes`, with log_probs (S, n, C), in nats.

        Raises:
            TypeError: x does not consist of real numbers, or n_samples is not an integer.
            ValueError: x has another number of columns than the training data, no rows, or values that are not finite.
        """
        features = checks.reals(x, "x", "(n, P)")
        if features.shape[1] != self.source.n_features or not len(features):
            raise ValueError(
                f"x should have at least one row and the {self.source.n_features} columns of the training data, got "
                f"{features.shape}"
            )
        n_samples = self.protocol.samples if n_samples is None else checks.integer(n_samples, "n_samples", 1)
        inputs = torch.tensor(features.astype(np.float64), device=self.fits.stack.data.x.device)
        with single_threaded():
            (predictive,) = self.fits.predict([np.arange(len(inputs))], n_samples, inputs)
        return _moved(type(predictive)(*(part.cpu() for part in predictive)), self.offset)


def _moved(predictive: Predictive, offset: float) -> Predictive:
    """Return the predictive of targets shifted by `offset`, in double precision; unchanged for classes."""
    if (name := LOCATIONS.get(type(predictive))) is None:
        return predictive
    return predictive._replace(**{name: getattr(predictive, name).double() + offset})


def _without_data(fits: StackedFits) -> StackedFits:
    """Return the fits without their training rows and without the diagnostics recorded during training."""
    stack = fits.stack
    empty = Data(stack.data.x[:0].clone(), stack.data.y[:0].clone())
    bare = {id(fit): replace(fit, rows=NO_ROWS) for fit in fits.fits}
    members = tuple((bare[id(fit)], member) for fit, member in stack.members)
    return replace(
        fits,
        fits=tuple(bare.values()),
        stack=replace(stack, data=empty, members=members),
        record=TrainingRecord(fits.schedule.plan.n_updates, 0),
    )
