"""Interface of scorers, which compute the scores of trained fits, and functions that scorers share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite, nan
from typing import Any, Protocol

import pyarrow as pa
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.evaluation.tuning.tuner import Diverged, Score
from lockstep_bench.bench.results.record import Outcome, class_name
from lockstep_bench.methods.maths.predictive import Predictive

VALIDATION = "validation points"


class Scorer(Protocol):
    """Interface of an object that scores the trained fits of one kind of evaluation."""

    @property
    def objective(self) -> str:
        """Name of the field of `bench.results.record.TuningFacts` that stores the score of the chosen trial."""

    def trials(self, fits: TrainedFits, scored_on: Sequence[Any]) -> list[Score]:
        """Return the score of each fit of a trial on its element of `scored_on` (`bench.evaluation.fits.HeldOut`)."""

    def finals(self, fits: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        """Score the final fits of some cells, and return the outcomes of these cells, with a status.

        Args:
            fits: The final fits of these cells.
            numbers: The cells' numbers in the job.
            known: The outcome of each of these cells so far.
        """


def validation_score(predictive: Predictive, y: torch.Tensor) -> Score:
    """Return the NMLL of a predictive on validation targets y (n,), nats, or the reason why it has none."""
    try:
        value = metrics.nmll(predictive, y)
    except metrics.NoDistribution as problem:
        return Score(nan, metrics.flaw(predictive, VALIDATION) or str(problem))
    return Score(value, "" if isfinite(value) else metrics.flaw(predictive, VALIDATION) or "")


def diverged(known: Outcome, error: str, tables: Mapping[str, pa.Table] | None = None) -> Outcome:
    """Return the outcome of a cell with the status "diverged".

    Its fits gave numbers that are not finite, absurdly large, or no probability distribution.

    Args:
        known: The outcome so far.
        error: The reason.
        tables: Tables to store with the result nevertheless.
    """
    error_class = class_name(Diverged())
    return replace(known, status="diverged", error=error, error_class=error_class, tables=tables or {})
