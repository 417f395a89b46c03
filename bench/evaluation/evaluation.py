"""The steps of a job: its cells, which differ in their split alone, are tuned, fitted and scored side by side.

What is fitted and how it is scored is up to the kind of suite: `bench.evaluation.prediction`,
`bench.evaluation.posterior`.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil, isfinite
from typing import Any

import numpy as np
import torch

import datasets
from bench.engine.minibatches import Schedule
from bench.engine.replica import Data, Fit
from bench.engine.seeds import seed_of
from bench.engine.stacked_training import Execution, train_stacked
from bench.engine.trained import TrainedFits
from bench.experiment.jobs import End, Job
from bench.experiment.progress import Progress, Tell
from bench.experiment.protocol import Protocol
from bench.experiment.tasks import as_json, method_for, space_of, task_of
from bench.tuning.tuner import Centred, Diverged, Search, Trials, Tuned, mean_over_folds, tune
from methods.base import Method


class Pack(ABC):
    """The steps of a job; what one finds out about a cell goes into `found` at once, and a later failure keeps it."""

    def __init__(self, job: Job, device: torch.device, found: list[dict[str, Any]], tell: Tell):
        self.cells, self.journals, self.device, self.found = job.cells, job.journals, device, found
        first = job.cells[0]
        self.protocol, self.data_dir = first.protocol, job.data_dir
        self.dataset = datasets.load(first.dataset, job.data_dir)
        self.splits = [self.dataset.splits[cell.split] for cell in self.cells]
        for own, cell, split in zip(found, self.cells, self.splits, strict=True):
            own |= {
                "task": datasets.entry(cell.dataset).task,
                "n_train": len(split.train),
                "n_test": len(split.test),
                "n_ood": len(self.dataset.ood),
                "data_sha256": self.dataset.data_sha256,
                "split_sha256": self.dataset.split_sha256[cell.split],
            }
        if len({len(split.train) for split in self.splits}) > 1:
            raise ValueError("splits of different sizes cannot be trained in step")
        self.task = task_of(first.suite, first.dataset, self.protocol)
        self.method = method_for(first.method, self.task)
        self.space = space_of(self.method, self.task, self.protocol)
        for own in found:
            own["search_space"] = as_json(self.space)
        self.limit = max(1, job.stack_rows // self.method.members) if self.method.stackable else 1
        self._tell = tell

    objective: str  # the column of the schema that holds the score of the chosen trial
    data: Data  # what is fitted
    standardise: bool = True  # whether each fit standardises its data by its own rows
    dtype: torch.dtype = torch.float32
    effort: float = 1.0  # how many times the protocol's epochs
    execution: Execution = "captured"  # of the stacks

    @cached_property
    def search(self) -> Protocol:
        """The protocol with as many trials as make sense: one, where there is nothing to choose."""
        nothing = all(one.single() for one in self.space.values())
        return self.protocol.changed(trials=1) if nothing else self.protocol

    @property
    def fits_per_trial(self) -> int:
        """By default one for each fold of the cross-validation."""
        return self.protocol.folds

    @abstractmethod
    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, Any]]:
        """What has to be fitted to score a trial of cell `number`, `fits_per_trial` fits, and what to score each on."""

    @abstractmethod
    def scores(self, stack: TrainedFits, by: Sequence[Any]) -> list[float]:
        """The score, to be minimised, of each fit of a stack on what belongs to it."""

    @abstractmethod
    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        """The fit of cell `number` with the chosen hyper-parameters."""

    @abstractmethod
    def judge(self, stack: TrainedFits, numbers: Sequence[int]) -> list[End]:
        """The ends of the cells `numbers`, whose final fits are in the stack."""

    def go(self) -> list[End]:
        """Tune, fit and score each cell."""
        fits = [(end - start) * self.fits_per_trial for start, end in self.search.rounds()] + [1]
        self.progress = Progress(sum(ceil(len(self.cells) * count / self.limit) for count in fits), self._tell)
        ends: list[End | None] = [None] * len(self.cells)
        tuned: dict[int, Tuned] = {}
        for number, search in enumerate(self._tune()):
            try:
                tuned[number] = search.best()
            except Diverged as problem:
                ends[number] = End("diverged", str(problem))
        for number, best in tuned.items():
            self.found[number] |= {
                "tune_seconds": best.seconds,
                "hparams": json.dumps(best.hparams),
                self.objective: best.score,
                "n_trials": best.n_trials,
                "n_trials_failed": best.n_failed,
            }
        for first in range(0, len(tuned), self.limit):
            here = list(tuned)[first : first + self.limit]
            for number, end in zip(here, self._finals(here, tuned), strict=True):
                ends[number] = end
        return ends

    def points(self, number: int) -> int:
        """How many inputs the final fit of cell `number` predicts at."""
        return len(self.splits[number].test) + len(self.dataset.ood)

    def final_seed(self, number: int) -> int:
        """Seed of the final fit of cell `number`."""
        return seed_of(self.cells[number].fit_seed, "final")

    def now(self) -> float:
        """Seconds, when all that was asked of the device is done."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def _finals(self, numbers: Sequence[int], tuned: Mapping[int, Tuned]) -> list[End]:
        fits = [self.final_fit(number, tuned[number].hparams) for number in numbers]
        started = self.now()
        stack = self._train(self.method, fits, len(fits[0].rows))
        fit_seconds = (self.now() - started) / len(fits)
        for number, diagnosed in zip(numbers, stack.diagnostics(), strict=True):
            self.found[number] |= {
                "fit_seconds": fit_seconds,
                "n_weights": stack.n_weights,
                "n_parameters": stack.n_parameters,
                "diagnostics": json.dumps({name: one if isfinite(one) else None for name, one in diagnosed.items()}),
            }
        return self.judge(stack, numbers)

    def _tune(self) -> list[Search] | list[Centred]:
        """The finished study of each cell, or what stands for it where nothing is tuned."""
        if self.search.sampler == "centre":
            return [Centred(dict(self.space))] * len(self.cells)
        searches = [
            Search(journal, dict(self.space), self.search, cell.fit_seed)
            for cell, journal in zip(self.cells, self.journals, strict=True)
        ]

        def objective(due: list[tuple[Search, Trials]]) -> list[list[float]]:
            wanted = [
                pair
                for search, trials in due
                for trial, hparams in trials
                for pair in self.trial_fits(searches.index(search), trial, hparams)
            ]
            scores = mean_over_folds(self._scores(*zip(*wanted, strict=True)), self.fits_per_trial)
            ends = np.cumsum([len(trials) for _, trials in due])
            return [scores[end - len(trials) : end] for end, (_, trials) in zip(ends, due, strict=True)]

        tune(searches, self.search, objective)
        return searches

    def _scores(self, fits: Sequence[Fit], by: Sequence[Any]) -> np.ndarray:
        """The score of each fit on what belongs to it."""
        found, largest = [], max(len(fit.rows) for fit in fits)
        rehearsal = self.method.rehearsal()
        for first in range(0, len(fits), self.limit):
            here = slice(first, first + self.limit)
            found += self.scores(self._train(rehearsal, fits[here], largest), by[here])
        return np.array(found)

    def _limit(self, method: Method) -> int | None:
        """The most minibatches of a fit."""
        of_updates = self.protocol.max_updates and self.protocol.max_updates * method.batches_per_update
        return min((limit for limit in (self.protocol.max_minibatches, of_updates) if limit), default=None)

    def _train(self, method: Method, fits: Sequence[Fit], largest: int) -> TrainedFits:
        protocol = self.protocol
        schedule = Schedule(
            largest,
            protocol.batch_size,
            round(protocol.epochs * self.effort),
            method.batches_per_update,
            self._limit(method),
        )
        return train_stacked(
            method,
            self.task,
            self.data,
            fits,
            schedule,
            standardise=self.standardise,
            execution=self.execution,
            dtype=self.dtype,
            stacked=method.stackable,
            on_update=self.progress.next_stack(schedule.plan.n_updates),
        )
