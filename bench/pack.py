"""The steps of a job: its cells, which differ in their split alone, are tuned, fitted and scored side by side."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

import datasets
import methods
from bench import metrics
from bench.cells import Cell
from bench.minibatches import Schedule
from bench.predictions import predictions_table
from bench.progress import Progress
from bench.row import Data, Fit
from bench.seeds import seed_of
from bench.stack import Stack
from bench.tasks import space_of, task_of
from bench.tuner import Diverged, Search, Trials, Tuned, mean_over_folds, rounds, tune
from datasets import Standardisation, folds
from methods.predictive import Predictive

MAX_STACK_ROWS = {"cpu": 150, "cuda": 4096}  # on a CPU core larger stacks gain little and cost memory
MAX_PACK = {"cpu": 5, "cuda": 20}  # cells side by side: their final fits fill a stack, and no more is lost at a stop


@dataclass(frozen=True)
class Job:
    """What a worker needs to run cells that differ in their split alone, side by side.

    Attributes:
        cells: to be run.
        journals: the file of each cell's Optuna study.
        data_dir: data directory, or None for the default.
        device: torch device name.
    """

    cells: tuple[Cell, ...]
    journals: tuple[Path, ...]
    data_dir: Path | None
    device: str

    def alone(self) -> list["Job"]:
        """One job for each cell."""
        pairs = zip(self.cells, self.journals, strict=True)
        return [replace(self, cells=(cell,), journals=(journal,)) for cell, journal in pairs]


class End(NamedTuple):
    """What became of a cell."""

    status: str
    error: str | None = None
    predictions: pa.Table | None = None


class Pack:
    """The steps of a job; what one finds out about a cell goes into `found` at once, and a later failure keeps it."""

    def __init__(self, job: Job, found: list[dict[str, Any]], tell: Callable[[float], None]):
        self.cells, self.journals, self.device, self.found = job.cells, job.journals, torch.device(job.device), found
        first = job.cells[0]
        self.protocol = first.protocol
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
        self.method = methods.get(first.method)
        self.task = task_of(first.suite, first.dataset, self.protocol.likelihood)
        x = np.concatenate([self.dataset.x, self.dataset.ood])
        y = np.concatenate([self.dataset.y, np.zeros(len(self.dataset.ood))])  # the latter are never looked at
        self.data = Data.of(x, y, self.device)
        self.limit = max(1, MAX_STACK_ROWS[self.device.type] // self.method.members) if self.method.stackable else 1
        fits = [(end - start) * self.protocol.folds for start, end in rounds(self.protocol)] + [1]
        self.progress = Progress(sum(ceil(len(self.cells) * count / self.limit) for count in fits), tell)

    def go(self) -> list[End]:
        """Tune, fit, predict, score each cell."""
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
                "validation_nmll": best.validation_nmll,
                "n_trials": best.n_trials,
                "n_trials_failed": best.n_failed,
            }
        for first in range(0, len(tuned), self.limit):
            here = list(tuned)[first : first + self.limit]
            for number, end in zip(here, self._finals(here, tuned), strict=True):
                ends[number] = end
        return ends

    def _finals(self, numbers: Sequence[int], tuned: Mapping[int, Tuned]) -> list[End]:
        """The final fits of some cells, stacked, and their scores on the test parts."""
        fits = [
            Fit(self.splits[number].train, tuned[number].hparams, seed_of(self.cells[number].fit_seed, "final"))
            for number in numbers
        ]
        started = self._now()
        stack = self._train(fits, len(fits[0].rows))
        fit_seconds = (self._now() - started) / len(fits)
        diagnostics = stack.diagnostics()

        tests = [self.splits[number].test for number in numbers]
        started = self._now()
        predictives = list(self._predictives(stack, tests))
        seconds_per_1000 = (self._now() - started) / sum(map(len, tests)) * 1000
        ood_rows = len(self.dataset.x) + np.arange(len(self.dataset.ood))
        oods = list(self._predictives(stack, [ood_rows] * len(numbers))) if len(ood_rows) else [None] * len(numbers)
        for number, diagnosed in zip(numbers, diagnostics, strict=True):
            self.found[number] |= {
                "fit_seconds": fit_seconds,
                "n_weights": stack.n_weights,
                "n_parameters": stack.n_parameters,
                "diagnostics": json.dumps({name: one if isfinite(one) else None for name, one in diagnosed.items()}),
                "predict_seconds_per_1000": seconds_per_1000,
            }
        return [self._score(*one) for one in zip(numbers, predictives, oods, strict=True)]

    def _score(self, number: int, predictive: Predictive, ood: Predictive | None) -> End:
        if not all(part.isfinite().all() for part in (*predictive, *(ood or ()))):
            return End("diverged", "the final fit predicts numbers that are not finite")
        train, test = self.splits[number].train, self.splits[number].test
        y = torch.tensor(self.dataset.y[test])
        y_scale = float(Standardisation.of(self.dataset.y, train).scale)
        self.found[number] |= metrics.evaluate(predictive, y, y_scale, ood)
        return End("ok", None, predictions_table(predictive, test, y, ood))

    def _predictives(self, stack: Stack, rows: Sequence[np.ndarray]) -> Iterator[Predictive]:
        """Each fit's predictive at its own rows, on the CPU."""
        for found in stack.predict(rows, self.protocol.samples):
            yield type(found)(*(part.cpu() for part in found))

    def _tune(self) -> list[Search]:
        """The finished study of each cell."""
        space = space_of(self.method, self.task, self.protocol)
        searches = [
            Search(journal, space, self.protocol, cell.fit_seed)
            for cell, journal in zip(self.cells, self.journals, strict=True)
        ]
        parts = [_folds(cell, split.train) for cell, split in zip(self.cells, self.splits, strict=True)]

        def objective(due: list[tuple[Search, Trials]]) -> list[list[float]]:
            fits, validation = [], []
            for search, trials in due:
                number = searches.index(search)
                for trial, hparams in trials:
                    for fold, (training, held_out) in enumerate(parts[number]):
                        seed = seed_of(self.cells[number].fit_seed, "trial", trial, fold)
                        fits.append(Fit(training, hparams, seed))
                        validation.append(held_out)
            scores = mean_over_folds(self._scores(fits, validation), self.protocol.folds)
            ends = np.cumsum([len(trials) for _, trials in due])
            return [scores[end - len(trials) : end] for end, (_, trials) in zip(ends, due, strict=True)]

        tune(searches, self.protocol, objective)
        return searches

    def _scores(self, fits: Sequence[Fit], validation: Sequence[np.ndarray]) -> np.ndarray:
        """The validation NMLL of each fit at its own validation rows."""
        scores, largest = [], max(len(fit.rows) for fit in fits)
        for first in range(0, len(fits), self.limit):
            stack = self._train(fits[first : first + self.limit], largest)
            rows = validation[first : first + self.limit]
            for own, predictive in zip(rows, stack.predict(rows, self.protocol.validation_samples), strict=True):
                scores.append(metrics.nmll(predictive, self.data.y[own]))
        return np.array(scores)

    def _train(self, fits: Sequence[Fit], largest: int) -> Stack:
        protocol = self.protocol
        schedule = Schedule(
            largest, protocol.batch_size, protocol.epochs, self.method.batches_per_update, protocol.max_minibatches
        )
        watch = self.progress.next_stack(schedule.plan.n_updates)
        return Stack(self.method, self.task, self.data, fits, schedule, stacked=self.method.stackable, watch=watch)

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def _folds(cell: Cell, train: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and validation rows of each fold; the same for every method."""
    held_out = [train[part] for part in folds(len(train), cell.protocol.folds, cell.fold_seed)]
    return [(np.setdiff1d(train, part), part) for part in held_out]
