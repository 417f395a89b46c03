"""Evaluation by predictions: tune by cross-validation, fit to the train part, score on the test part."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.seeds import seed_of
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.evaluation.evaluation import diverged
from lockstep_bench.bench.evaluation.imputation import Imputed
from lockstep_bench.bench.evaluation.tuned import LargestFits, Score, TunedEvaluation, validation_score
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.metrics.prediction_table import predictions_table
from lockstep_bench.bench.results.record import DataFacts, Outcome
from lockstep_bench.datasets import Split, Standardisation, block_folds, folds
from lockstep_bench.methods.maths.predictive import Predictive

ALIKE = 0.05  # of the training rows, by which splits that train in one stack may differ


class PredictionEvaluation(TunedEvaluation):
    """Tuning by the mean validation NMLL over the folds, and scores of the final fit's predictions at the test part."""

    objective = "validation_nmll"

    @cached_property
    def data(self) -> Data:
        """The rows of the data set, then its OOD points, whose targets are unused zeros, then rows that are filled."""
        x = np.concatenate([self.dataset.x, self.dataset.ood])
        y = np.concatenate([self.dataset.y, np.zeros(len(self.dataset.ood))])
        if self._imputed:
            x, y = self._imputed.appended(x, y)
        return Data.of(x, y, self.device)

    @cached_property
    def _folds(self) -> list[list[tuple[np.ndarray, np.ndarray]]]:
        tails = self.source.split_scheme == "tails"
        pairs = zip(self.cells, self.splits, strict=True)
        return [_training_and_validation(cell, split, self.dataset.x, tails) for cell, split in pairs]

    @cached_property
    def _imputed(self) -> Imputed | None:
        """The filled rows of all training parts, for a data set with missing values."""
        if not self.source.impute:
            return None
        finals = [self._final_rows(number) for number in range(len(self.cells))]
        return Imputed(
            self.dataset.x, len(self.dataset.ood), [*finals, *(fold for folds in self._folds for fold, _ in folds)]
        )

    @cached_property
    def _filled_folds(self) -> list[list[tuple[np.ndarray, np.ndarray]]]:
        """The folds as rows of `data`; all trials share these arrays."""
        return [
            [(self._filled(training, training), self._filled(held_out, training)) for training, held_out in folds]
            for folds in self._folds
        ]

    def _filled(self, rows: np.ndarray, training: np.ndarray) -> np.ndarray:
        """Return rows of the data set as rows of `data`, filled by the medians of a training part."""
        return self._imputed.rows(rows, training) if self._imputed else rows

    def data_facts(self, number: int) -> DataFacts:
        return replace(super().data_facts(number), n_train=len(self._final_rows(number)))

    def largest_fits(self, number: int) -> LargestFits | None:
        """Return the sizes of the largest fits of the set's splits that have about as many training rows."""
        n_train, n_folds = self._largest_alike[len(self.splits[number].train)], self.protocol.folds
        if self.protocol.fold_kind == "block":
            n_trial = n_train - n_train // 3
        elif self._holdout:  # the first fold is the largest
            n_trial = n_train - -(-n_train // n_folds)
        else:
            n_trial = n_train - n_train // n_folds
        return LargestFits(n_trial, n_trial if self._holdout else n_train)

    @cached_property
    def _largest_alike(self) -> dict[int, int]:
        return largest_alike([len(split.train) for split in self.dataset.splits])

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, np.ndarray]]:
        seed = self.cells[number].fit_seed
        return [
            (Fit(training, hparams, seed_of(seed, "trial", trial, fold)), held_out)
            for fold, (training, held_out) in enumerate(self._filled_folds[number])
        ]

    def trial_scores(self, stack: TrainedFits, scored_on: Sequence[np.ndarray]) -> list[Score]:
        predictives = stack.predict(scored_on, self.protocol.validation_samples)
        pairs = zip(predictives, scored_on, strict=True)
        return [validation_score(predictive, self.data.y[rows]) for predictive, rows in pairs]

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        rows = self._final_rows(number)
        return Fit(self._filled(rows, rows), hparams, self.final_seed(number))

    def final_outcomes(self, stack: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        tests = [self._filled(self.splits[number].test, self._final_rows(number)) for number in numbers]
        started = self.now()
        predictives = list(self._predictives(stack, tests))
        seconds = (self.now() - started) / sum(map(len, tests)) * 1000
        timed = [replace(each, fit=replace(each.trained_fit, predict_seconds_per_1000=seconds)) for each in known]
        ood_rows = len(self.dataset.x) + np.arange(len(self.dataset.ood))
        oods = list(self._predictives(stack, [ood_rows] * len(numbers))) if len(ood_rows) else [None] * len(numbers)
        return [self.score(*each) for each in zip(numbers, timed, predictives, oods, strict=True)]

    def score(self, number: int, known: Outcome, predictive: Predictive, ood: Predictive | None) -> Outcome:
        """Return the outcome of a cell from its final fit's predictives, which are on the CPU.

        Args:
            number: Number of the cell in the job.
            known: The cell's outcome so far.
            predictive: Predictive at the test points.
            ood: Predictive at the OOD points; None if there are none.
        """
        if problem := metrics.flaw(predictive) or (ood and metrics.flaw(ood, "OOD points")):
            return diverged(known, f"the final fit predicts no distribution: {problem}")
        train, test = self._final_rows(number), self.splits[number].test
        y = torch.tensor(self.dataset.y[test])
        if not metrics.log_density(predictive, y).isfinite().all():
            return diverged(known, "the density of the final fit's predictive is 0 or infinite at a test target")
        y_scale = float(Standardisation.of(self.dataset.y, train).scale)
        return replace(
            known,
            status="ok",
            fit=known.trained_fit.with_diagnostics(**metrics.diagnostics(predictive, y)),
            metrics=metrics.evaluate(predictive, y, y_scale, ood),
            tables={"predictions": predictions_table(predictive, test, y, ood)},
        )

    @property
    def _holdout(self) -> bool:
        return self.protocol.validation == "holdout"

    def _final_rows(self, number: int) -> np.ndarray:
        """Return the training rows of the final fit of cell `number`."""
        return self._folds[number][0][0] if self._holdout else self.splits[number].train

    def _predictives(self, stack: TrainedFits, rows: Sequence[np.ndarray]) -> Iterator[Predictive]:
        """Yield each fit's predictive at its element of `rows`, on the CPU."""
        for predictive in stack.predict(rows, self.protocol.samples):
            yield type(predictive)(*(part.cpu() for part in predictive))


def largest_alike(sizes: Iterable[int]) -> dict[int, int]:
    """Return by number of training rows the largest number that trains in one stack with it.

    From the largest down, sizes share a stack if they differ from its largest by at most `ALIKE` of it, or by one row.
    All fits of a stack have as many updates as the largest needs, so that the others see their rows a little more
    often.
    """
    largest: dict[int, int] = {}
    for size in sorted(set(sizes), reverse=True):
        last = next(reversed(largest.values()), size)
        largest[size] = last if last - size <= max(1, ALIKE * last) else size
    return largest


def _training_and_validation(
    cell: Cell, split: Split, x: np.ndarray, tails: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and validation rows of each fold that is held out, which are equal for all methods.

    Args:
        cell: the cell, whose protocol says how folds are made.
        split: its split.
        x: (N, P), features of all rows.
        tails: whether block folds hold out the tails of the split's feature instead of a gap.
    """
    train, n_folds = split.train, cell.protocol.folds
    if cell.protocol.fold_kind == "block":
        parts = block_folds(x[train, split.feature], n_folds, cell.fold_seed, outer=tails)
    else:
        parts = folds(len(train), n_folds, cell.fold_seed)
    held_out = [train[part] for part in parts[: cell.protocol.fits_per_trial]]
    return [(np.setdiff1d(train, part), part) for part in held_out]
