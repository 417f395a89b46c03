"""From a cell to its row: tune, fit, predict, score."""

import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import datasets
import methods
from bench import memory, metrics
from bench.cells import Cell
from bench.minibatches import Schedule
from bench.process import settle
from bench.provenance import code_revision, host, versions
from bench.row import Data, Fit
from bench.schema import SCHEMA_VERSION, predictions_schema
from bench.seeds import seed_of
from bench.stack import Stack
from bench.suites import SUITES
from bench.tuner import Diverged, Tuned, mean_over_folds, rounds, tune
from datasets import Standardisation, folds
from methods.likelihoods import Bernoulli, Categorical, Gaussian, Likelihood
from methods.networks import MLP
from methods.predictive import Normals, Predictive
from methods.problem import Task

TELL_SECONDS = 1.0
MAX_STACK_ROWS = {"cpu": 150, "cuda": 4096}  # on a CPU core larger stacks gain little and cost memory


@dataclass(frozen=True)
class Job:
    """What a worker needs to run one cell.

    Attributes:
        cell: to be run.
        journal: file of its Optuna study.
        data_dir: data directory, or None for the default.
        device: torch device name.
    """

    cell: Cell
    journal: Path
    data_dir: Path | None
    device: str


@dataclass(frozen=True)
class Outcome:
    """A finished cell: its row of `bench.schema.CELLS` and, unless it failed, its predictions."""

    cell: Cell
    row: dict[str, Any]
    predictions: pa.Table | None


def run(job: Job, tell: Callable[[float], None] = lambda fraction: None) -> Outcome:
    """Run one cell. Whatever goes wrong inside becomes the row's status and error; nothing is raised.

    `tell` is called now and then with the fraction of the cell's updates that are done.
    """
    settle()
    device = torch.device(job.device)
    memory.reset_peak(device)
    found: dict[str, Any] = {}
    predictions = None
    try:
        predictions = _CellRun(job, device, found, tell).go()
        status, error = "ok", None
    except Diverged as problem:
        status, error = "diverged", str(problem)
    except Exception:
        status, error = "failed", traceback.format_exc(limit=-6)
    found["peak_memory_mib"] = memory.peak_mib(device)
    return Outcome(job.cell, _identity(job.cell, device) | found | {"status": status, "error": error}, predictions)


def failed_row(job: Job, error: str) -> dict[str, Any]:
    """The row of a cell whose worker did not live to write one."""
    return _identity(job.cell, torch.device(job.device)) | {"status": "failed", "error": error}


class _CellRun:
    """The steps of one cell; what each finds out goes into `found` at once, so that a later failure keeps it."""

    def __init__(self, job: Job, device: torch.device, found: dict[str, Any], tell: Callable[[float], None]):
        self.cell, self.journal, self.device, self.found = job.cell, job.journal, device, found
        self.dataset = datasets.load(job.cell.dataset, job.data_dir)
        self.split = self.dataset.splits[job.cell.split]
        found |= {
            "task": datasets.entry(job.cell.dataset).task,
            "n_train": len(self.split.train),
            "n_test": len(self.split.test),
            "n_ood": len(self.dataset.ood),
            "data_sha256": self.dataset.data_sha256,
            "split_sha256": self.dataset.split_sha256[job.cell.split],
        }
        self.method = methods.get(job.cell.method)
        self.task = task_of(job.cell.suite, job.cell.dataset)
        x = np.concatenate([self.dataset.x, self.dataset.ood])
        y = np.concatenate([self.dataset.y, np.zeros(len(self.dataset.ood))])  # the latter are never looked at
        self.data = Data.of(x, y, device)
        self.limit = max(1, MAX_STACK_ROWS[device.type] // self.method.members) if self.method.stackable else 1
        protocol = job.cell.protocol
        stacks = sum(ceil((end - start) * protocol.folds / self.limit) for start, end in rounds(protocol)) + 1
        self.progress = _Progress(stacks, tell)

    def go(self) -> pa.Table:
        """Tune, fit, predict, score; returns the predictions."""
        tuned = self._tune()
        self.found |= {
            "tune_seconds": tuned.seconds,
            "hparams": json.dumps(tuned.hparams),
            "validation_nmll": tuned.validation_nmll,
            "n_trials": tuned.n_trials,
            "n_trials_failed": tuned.n_failed,
        }

        train, test = self.split.train, self.split.test
        started = self._now()
        stack = self._train([Fit(train, tuned.hparams, seed_of(self.cell.fit_seed, "final"))], len(train))
        self.found |= {
            "fit_seconds": self._now() - started,
            "n_weights": stack.n_weights,
            "n_parameters": stack.n_parameters,
            "diagnostics": json.dumps(stack.diagnostics()[0]),
        }

        started = self._now()
        predictive = self._predictive(stack, test)
        self.found["predict_seconds_per_1000"] = (self._now() - started) / len(test) * 1000

        ood = (
            self._predictive(stack, len(self.dataset.x) + np.arange(n_ood))
            if (n_ood := len(self.dataset.ood))
            else None
        )
        y = torch.tensor(self.dataset.y[test])
        y_scale = float(Standardisation.of(self.dataset.y, train).scale)
        self.found |= metrics.evaluate(predictive, y, y_scale, ood)
        return predictions_table(predictive, test, y, ood)

    def _predictive(self, stack: Stack, rows: np.ndarray) -> Predictive:
        """The only fit's predictive, on the CPU."""
        found = next(stack.predict([rows], self.cell.protocol.samples))
        if not all(part.isfinite().all() for part in found):
            raise Diverged("the final fit predicts numbers that are not finite")
        return type(found)(*(part.cpu() for part in found))

    def _tune(self) -> Tuned:
        cell, protocol, train = self.cell, self.cell.protocol, self.split.train
        validation = [train[part] for part in folds(len(train), protocol.folds, cell.fold_seed)]
        training = [np.setdiff1d(train, part) for part in validation]
        largest = max(map(len, training))

        def objective(trials: list[tuple[int, dict[str, float]]]) -> list[float]:
            fits = [
                Fit(rows, hparams, seed_of(cell.fit_seed, "trial", number, fold))
                for number, hparams in trials
                for fold, rows in enumerate(training)
            ]
            scores = self._scores(fits, validation * len(trials), largest)
            return mean_over_folds(scores, protocol.folds)

        space = self.method.search_space(self.task)
        return tune(self.journal, space, protocol, cell.fit_seed, objective)

    def _scores(self, fits: Sequence[Fit], validation: Sequence[np.ndarray], largest: int) -> np.ndarray:
        """The validation NMLL of each fit at its own validation rows."""
        scores = []
        for first in range(0, len(fits), self.limit):
            stack = self._train(fits[first : first + self.limit], largest)
            rows = validation[first : first + self.limit]
            predictives = stack.predict(rows, self.cell.protocol.validation_samples)
            for own, predictive in zip(rows, predictives, strict=True):
                scores.append(metrics.nmll(predictive, self.data.y[own]))
        return np.array(scores)

    def _train(self, fits: Sequence[Fit], largest: int) -> Stack:
        protocol = self.cell.protocol
        schedule = Schedule(
            largest, protocol.batch_size, protocol.epochs, self.method.batches_per_update, protocol.max_minibatches
        )
        watch = self.progress.next_stack(schedule.plan.n_updates)
        return Stack(self.method, self.task, self.data, fits, schedule, stacked=self.method.stackable, watch=watch)

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


class _Progress:
    """Tells at most once a second what part of a cell's stacks, each counted alike, is trained."""

    def __init__(self, n_stacks: int, tell: Callable[[float], None]):
        self._n_stacks, self._tell = n_stacks, tell
        self._begun, self._told = 0, time.monotonic()

    def next_stack(self, n_updates: int) -> Callable[[int], None]:
        """What the next stack is to call after each of its updates."""
        before = self._begun
        self._begun += 1

        def watch(update: int) -> None:
            now = time.monotonic()
            if now - self._told >= TELL_SECONDS:
                self._told = now
                self._tell((before + update / n_updates) / self._n_stacks)

        return watch


def task_of(suite: str, dataset: str) -> Task:
    """The task that a suite makes of a data set."""
    source = datasets.entry(dataset)
    likelihood = _likelihood(source)
    return Task(dataset, likelihood, MLP(source.n_features, SUITES[suite].hidden, likelihood.n_outputs))


def _likelihood(source: datasets.Source) -> Likelihood:
    if source.task == "regression":
        return Gaussian(source.noise_precisions)
    return Bernoulli() if source.task == "binary" else Categorical(source.n_classes)


def predictions_table(
    predictive: Predictive, rows: np.ndarray, y: torch.Tensor, ood: Predictive | None = None
) -> pa.Table:
    """The predictives at test points `rows` (n,) with targets y (n,), and at all OOD points, as a table to keep."""
    n_samples = len(predictive[0])
    n_ood = 0 if ood is None else ood[0].shape[1]
    n_classes = None if isinstance(predictive, Normals) else predictive.log_probs.shape[2]
    schema = predictions_schema(n_samples, n_classes)

    def per_point(*parts: torch.Tensor) -> pa.Array:
        """(S, n) or (S, n, C) to a list of S or S C numbers per point."""
        points = torch.cat([part.transpose(0, 1).flatten(1).float() for part in parts])
        return pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1).numpy()), points.shape[1])

    absent = pa.nulls(n_ood, pa.float64())
    samples = {
        name: per_point(part, *([] if ood is None else [getattr(ood, name)]))
        for name, part in predictive._asdict().items()
    }
    columns = samples | {
        "row": pa.array(np.concatenate([rows, np.arange(n_ood)])),
        "ood": pa.array(np.arange(len(rows) + n_ood) >= len(rows)),
        "y": pa.concat_arrays([pa.array(y.numpy()), absent]),
        "nll": pa.concat_arrays([pa.array(-metrics.log_density(predictive, y).numpy()), absent]),
    }
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def _identity(cell: Cell, device: torch.device) -> dict[str, Any]:
    revision = code_revision()
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": cell.suite,
        "dataset": cell.dataset,
        "method": cell.method,
        "split": cell.split,
        "preset": cell.preset,
        "seed": cell.seed,
        "protocol": cell.protocol.to_json(),
        "protocol_hash": cell.protocol.hash,
        "code_revision": revision.commit,
        "code_dirty": revision.dirty,
        "versions": versions(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "host": host(),
        "finished_at": datetime.now(UTC),
    }
