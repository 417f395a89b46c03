"""Fits of a method that is trained anew after each of its decisions, for all cells of a job side by side."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil, isfinite
from typing import NamedTuple

import numpy as np
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.draws import means
from lockstep_bench.bench.evaluation.trainer import stacked_trainer
from lockstep_bench.bench.evaluation.tuning.tuner import Centred
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.experiment.tasks import as_json
from lockstep_bench.bench.results.record import FitFacts, Outcome, TuningFacts
from lockstep_bench.methods.maths.predictive import Predictive


class Request(NamedTuple):
    """A fit to train, and the rows at which it predicts.

    Attributes:
        place: The number of its split in the job.
        rows: Training rows.
        seed: Seed of the fit.
        at: Rows to predict at.
    """

    place: int
    rows: np.ndarray
    seed: int
    at: np.ndarray


class RepeatedFits:
    """Trains the fits that decisions need, as stacks; nothing is tuned.

    Args:
        assignment: The method and the splits.
        on_progress: Called now and then with the progress of the job.

    Attributes:
        assignment: The method and the splits.
        hparams: For each split, the middle of each hyper-parameter's range.
    """

    def __init__(self, assignment: Assignment, on_progress: OnProgress):
        self.assignment, dataset = assignment, assignment.dataset
        self._data = Data.of(dataset.x, dataset.y, assignment.device)
        self._trainer = stacked_trainer(assignment, self._data, ProgressReporter(1, on_progress))
        self._places = range(len(assignment.splits))
        self.hparams = [Centred(assignment.space(place)).best().hparams for place in self._places]
        self._fit_seconds = self._predict_seconds = 0.0
        self._n_predicted = 0
        self._last: TrainedFits | None = None

    def expect(self, sizes: Iterable[int]) -> None:
        """Tell the progress report how many fits each later call of `predictives` will train."""
        self._trainer.progress.n_stacks = sum(ceil(size / self._trainer.limit) for size in sizes)

    def known(self) -> list[Outcome]:
        """Return the outcome of each cell before the first fit."""
        assignment = self.assignment
        return [
            Outcome(
                data=assignment.facts(place),
                search_space=as_json(assignment.space(place)),
                tuning=TuningFacts(hparams=json.dumps(hparams), n_trials=0, n_trials_failed=0),
            )
            for place, hparams in enumerate(self.hparams)
        ]

    def fitted(self) -> list[Outcome]:
        """Return the outcome of each cell after the last fit, without a status."""
        assert self._last is not None
        fit = FitFacts(
            fit_seconds=self._fit_seconds / len(self._places),
            n_weights=self._last.n_weights,
            n_parameters=self._last.n_parameters,
            execution=self._last.execution,
            predict_seconds_per_1000=self._predict_seconds / self._n_predicted * 1000,
        )
        return [replace(outcome, fit=fit) for outcome in self.known()]

    def predictives(self, requests: Sequence[Request]) -> Iterator[Predictive]:
        """Train fits on equally many rows, and yield the predictive of each one."""
        limit = self._trainer.limit
        for first in range(0, len(requests), limit):
            yield from self._of_stack(requests[first : first + limit])

    def _of_stack(self, requests: Sequence[Request]) -> Iterator[Predictive]:
        trainer = self._trainer
        fits = [Fit(each.rows, self.hparams[each.place], each.seed) for each in requests]
        schedule = trainer.schedule(trainer.method, len(requests[0].rows))
        on_update = trainer.progress.next_stack(schedule.plan.n_updates)
        task = self.assignment.tasks[requests[0].place]
        started = now(trainer.device)
        self._last = trained = trainer.engine(trainer.method, task, self._data, fits, schedule, on_update=on_update)
        self._fit_seconds += now(trainer.device) - started
        predictives = trained.predict([each.at for each in requests], self.assignment.protocol.samples)
        for request in requests:
            started = now(trainer.device)
            predictive = next(predictives)
            self._predict_seconds += now(trainer.device) - started
            self._n_predicted += len(request.at)
            yield predictive

    def errors(self, predictive: Predictive, at: np.ndarray) -> dict[str, float]:
        """Return the NMLL, and the RMSE over the standard deviation of all targets, at the rows `at`.

        The dictionary is empty if the predictive has no positive density at each target.
        """
        y = self.assignment.dataset.y
        targets = torch.tensor(y[at], device=self.assignment.device)
        if metrics.flaw(predictive) or not isfinite(nmll := metrics.nmll(predictive, targets)):
            return {}
        return {"rmse": float(np.sqrt(np.mean((means(predictive).mean(axis=0) - y[at]) ** 2))) / y.std(), "nmll": nmll}

    def scores(self, predictive: Predictive, at: np.ndarray, rows: np.ndarray) -> dict[str, float]:
        """Return the metrics of regression and of joint predictions at the rows `at`, for a fit to `rows`.

        The dictionary is empty if the predictive has no positive density at each target.
        """
        y = self.assignment.dataset.y
        predictive, targets = type(predictive)(*(part.cpu() for part in predictive)), torch.tensor(y[at])
        if not self.errors(predictive, at):
            return {}
        y_scale = float(y[rows].std()) or 1.0
        return metrics.evaluate(predictive, targets, y_scale) | metrics.evaluate_joint(predictive, targets, y_scale)
