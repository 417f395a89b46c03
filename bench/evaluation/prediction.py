"""Evaluation by predictions on tables: tuned by cross-validation, trained on the training rows, scored on test rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import torch

from lockstep_bench.bench import metrics
from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.fits import HeldOut, LargestFits, SplitFits
from lockstep_bench.bench.evaluation.imputation import Imputed
from lockstep_bench.bench.evaluation.scoring import diverged, validation_score
from lockstep_bench.bench.evaluation.trainer import stacked_trainer
from lockstep_bench.bench.evaluation.tuned import PreparedFits, TunedEvaluation
from lockstep_bench.bench.evaluation.tuning.tuner import Score
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.metrics.prediction_table import predictions_table
from lockstep_bench.bench.results.record import DataFacts, Outcome
from lockstep_bench.datasets import Dataset, Source, Split, Standardisation, block_folds, folds
from lockstep_bench.methods.maths.predictive import Predictive
from lockstep_bench.shared.protocol import Protocol

ALIKE = 0.05  # of the training rows, by which splits that train in one stack may differ

# (place of the split, its outcome so far, predictives at the test points and at the OOD points) -> its outcome
Comparison = Callable[[int, Outcome, Predictive, Predictive | None], Outcome]


def evaluation_of(
    job: Job, device: torch.device, on_progress: OnProgress, loaded: tuple[Source, Dataset] | None = None
) -> TunedEvaluation:
    """Return the evaluation of a job by predictions on tables.

    Args:
        job: see `Assignment.of`.
        device: see `Assignment.of`.
        loaded: see `Assignment.of`.
        on_progress: called now and then with the progress of the job.
    """
    assignment = Assignment.of(job, device, loaded)
    rows = PredictionRows(assignment)
    return TunedEvaluation(job, assignment, rows.facts, partial(prepared_fits, assignment, rows), on_progress)


def prepared_fits(
    assignment: Assignment,
    rows: "PredictionRows",
    progress: ProgressReporter,
    settled: Mapping[str, float] | None = None,
    compared: Comparison | None = None,
) -> PreparedFits:
    """Return all that an evaluation needs: the fits of an assignment, their trainer and their scorer.

    Args:
        assignment: The method and the data that it is trained on.
        rows: Training, validation and test rows of the assignment.
        progress: Receives the progress of training.
        settled: Hyper-parameters that the data set's Bayesian model fixes.
        compared: See `PredictionScorer`.
    """
    trainer = stacked_trainer(assignment, rows.data, progress)
    splits = []
    for place, split in enumerate(assignment.splits):
        held_out, n_points = partial(rows.held_out, place, settled or {}), len(split.test) + len(assignment.dataset.ood)
        fits = SplitFits.of(assignment, place, held_out, rows.training(place), rows.largest(place), n_points, settled)
        splits.append(fits)
    return PreparedFits(
        splits, trainer, PredictionScorer(assignment, rows, compared), assignment.protocol.fits_per_trial
    )


class PredictionRows:
    """The data matrix of an assignment, and the rows that its fits are trained and scored on.

    Missing values are filled with the medians of the rows that a fit is trained on.

    Args:
        assignment: The method and the splits of the data set.
    """

    def __init__(self, assignment: Assignment):
        self._assignment, self._dataset, self._protocol = assignment, assignment.dataset, assignment.protocol
        self._holdout = self._protocol.validation == "holdout"

    @cached_property
    def data(self) -> Data:
        """The data matrix: rows of the data set, then OOD points (with zeros as unused targets), then imputed rows."""
        x = np.concatenate([self._dataset.x, self._dataset.ood])
        y = np.concatenate([self._dataset.y, np.zeros(len(self._dataset.ood))])
        if self._imputed:
            x, y = self._imputed.appended(x, y)
        return Data.of(x, y, self._assignment.device)

    @cached_property
    def folds(self) -> list[list[tuple[np.ndarray, np.ndarray]]]:
        """For each split, the training and validation rows of each fold, as row numbers of the data set."""
        tails = self._assignment.source.split_scheme == "tails"
        pairs = zip(self._assignment.seeded, self._assignment.splits, strict=True)
        return [
            _training_and_validation(self._protocol, split, each.fold_seed, self._dataset.x, tails)
            for each, split in pairs
        ]

    @cached_property
    def _filled_folds(self) -> list[list[tuple[np.ndarray, np.ndarray]]]:
        """The folds as rows of `data`; all trials share these arrays."""
        return [
            [(self._filled(training, training), self._filled(held_out, training)) for training, held_out in folds]
            for folds in self.folds
        ]

    def held_out(self, place: int, settled: Mapping[str, float]) -> list[HeldOut]:
        """Return the fits of a trial on a split, one for each fold.

        `settled` holds the hyper-parameters that the data set's Bayesian model fixes.
        """
        return [HeldOut(*parts, (fold,), settled) for fold, parts in enumerate(self._filled_folds[place])]

    def final(self, place: int) -> np.ndarray:
        """Return the training rows of a split's final fit, as row numbers of the data set."""
        return self.folds[place][0][0] if self._holdout else self._assignment.splits[place].train

    def training(self, place: int) -> np.ndarray:
        """Return the training rows of a split's final fit, as row numbers of `data`, with missing values filled."""
        return self._filled(self.final(place), self.final(place))

    def test(self, place: int) -> np.ndarray:
        """Return the test points of a split, as row numbers of `data`."""
        return self._filled(self._assignment.splits[place].test, self.final(place))

    def ood(self) -> np.ndarray:
        """Return the OOD points, as row numbers of `data`."""
        return len(self._dataset.x) + np.arange(len(self._dataset.ood))

    def facts(self, place: int) -> DataFacts:
        """Return the numbers of rows and the checksums of a split, which are stored with its result."""
        return replace(self._assignment.facts(place), n_train=len(self.final(place)))

    def largest(self, place: int) -> LargestFits:
        """Return the sizes of the largest fits among all splits with about as many training rows as this one."""
        n_train, n_folds = self._largest_alike[len(self._assignment.splits[place].train)], self._protocol.folds
        if self._protocol.fold_kind == "block":
            n_trial = n_train - n_train // 3
        elif self._holdout:  # the first fold is the largest
            n_trial = n_train - -(-n_train // n_folds)
        else:
            n_trial = n_train - n_train // n_folds
        return LargestFits(n_trial, n_trial if self._holdout else n_train)

    @cached_property
    def _largest_alike(self) -> dict[int, int]:
        return largest_alike([len(split.train) for split in self._dataset.splits])

    @cached_property
    def _imputed(self) -> Imputed | None:
        """The filled rows of all training parts, for a data set with missing values."""
        if not self._assignment.source.impute:
            return None
        finals = [self.final(place) for place in range(len(self._assignment.splits))]
        of_folds = [training for folds in self.folds for training, _ in folds]
        return Imputed(self._dataset.x, len(self._dataset.ood), [*finals, *of_folds])

    def _filled(self, rows: np.ndarray, training: np.ndarray) -> np.ndarray:
        """Return rows of the data set as rows of `data`, filled by the medians of a training part."""
        return self._imputed.rows(rows, training) if self._imputed else rows


class PredictionScorer:
    """Scores trials by the mean validation NMLL over the folds, and final fits by their predictions on test rows.

    Args:
        assignment: The method and the data that it is trained on.
        rows: Data matrix and row numbers of the fits.
        compared: Function that adds a comparison with a reference posterior to an outcome with status "ok"; None for no
            comparison.
    """

    objective = "validation_nmll"

    def __init__(
        self,
        assignment: Assignment,
        rows: PredictionRows,
        compared: Comparison | None = None,
    ):
        self._assignment, self._rows, self._compared = assignment, rows, compared

    def trials(self, fits: TrainedFits, scored_on: Sequence[np.ndarray]) -> list[Score]:
        predictives = fits.predict(scored_on, self._assignment.protocol.validation_samples)
        pairs = zip(predictives, scored_on, strict=True)
        return [validation_score(predictive, self._rows.data.y[rows]) for predictive, rows in pairs]

    def finals(self, fits: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        tests, device = [self._rows.test(number) for number in numbers], self._assignment.device
        started = now(device)
        predictives = list(self._predictives(fits, tests))
        seconds = (now(device) - started) / sum(map(len, tests)) * 1000
        timed = [replace(each, fit=replace(each.trained_fit, predict_seconds_per_1000=seconds)) for each in known]
        ood = self._rows.ood()
        oods = list(self._predictives(fits, [ood] * len(numbers))) if len(ood) else [None] * len(numbers)
        return [self._scored(*each) for each in zip(numbers, timed, predictives, oods, strict=True)]

    def _scored(self, number: int, known: Outcome, predictive: Predictive, ood: Predictive | None) -> Outcome:
        """Return the outcome of a cell from its final fit's predictives, which are on the CPU."""
        if problem := metrics.flaw(predictive) or (ood and metrics.flaw(ood, "OOD points")):
            return diverged(known, f"the final fit predicts no distribution: {problem}")
        dataset, test = self._assignment.dataset, self._assignment.splits[number].test
        y = torch.tensor(dataset.y[test])
        if not metrics.log_density(predictive, y).isfinite().all():
            return diverged(known, "the density of the final fit's predictive is 0 or infinite at a test target")
        y_scale = float(Standardisation.of(dataset.y, self._rows.final(number)).scale)
        joint = metrics.evaluate_joint(predictive, y, y_scale) if self._assignment.method.joint else {}
        outcome = replace(
            known,
            status="ok",
            fit=known.trained_fit.with_diagnostics(**metrics.diagnostics(predictive, y)),
            metrics=metrics.evaluate(predictive, y, y_scale, ood) | joint,
            tables={"predictions": predictions_table(predictive, test, y, ood)},
        )
        return self._compared(number, outcome, predictive, ood) if self._compared else outcome

    def _predictives(self, fits: TrainedFits, rows: Sequence[np.ndarray]) -> Iterator[Predictive]:
        """Yield each fit's predictive at its element of `rows`, on the CPU."""
        for predictive in fits.predict(rows, self._assignment.protocol.samples):
            yield type(predictive)(*(part.cpu() for part in predictive))


def largest_alike(sizes: Iterable[int]) -> dict[int, int]:
    """Return, for each number of training rows, the largest number of rows in its group.

    Fits of a group can be trained together. From the largest size down, sizes form a group if they differ from its
    largest size by at most the fraction `ALIKE`, or by one row. All fits of a group have the number of updates that the
    largest needs, so smaller fits see their rows a little more often.
    """
    largest: dict[int, int] = {}
    for size in sorted(set(sizes), reverse=True):
        last = next(reversed(largest.values()), size)
        largest[size] = last if last - size <= max(1, ALIKE * last) else size
    return largest


def _training_and_validation(
    protocol: Protocol, split: Split, seed: int, x: np.ndarray, tails: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and validation rows of each fold that is held out, which are equal for all methods.

    Args:
        protocol: protocol that says how folds are made.
        split: the split whose training rows are cut into folds.
        seed: seed of the folds.
        x: (N, P), features of all rows.
        tails: whether block folds hold out the tails of the split's feature instead of a gap.
    """
    train, n_folds = split.train, protocol.folds
    if protocol.fold_kind == "block":
        parts = block_folds(x[train, split.feature], n_folds, seed, outer=tails)
    else:
        parts = folds(len(train), n_folds, seed)
    held_out = [train[part] for part in parts[: protocol.fits_per_trial]]
    return [(np.setdiff1d(train, part), part) for part in held_out]
