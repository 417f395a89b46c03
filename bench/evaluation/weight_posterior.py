"""Evaluation of linear models by the distance of their posterior of the weights from the reference posterior."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import torch

from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.fits import HeldOut, LargestFits, SplitFits
from lockstep_bench.bench.evaluation.scoring import diverged
from lockstep_bench.bench.evaluation.trainer import stacked_trainer
from lockstep_bench.bench.evaluation.tuned import PreparedFits, TunedEvaluation, require_equal_sizes
from lockstep_bench.bench.evaluation.tuning.tuner import Score
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.metrics import evaluate_joint, flaw, nmll
from lockstep_bench.bench.metrics.agreement import compare
from lockstep_bench.bench.reference.distances import GaussianTarget
from lockstep_bench.bench.reference.posterior import ReferencePosterior, exact, grid
from lockstep_bench.bench.reference.problem import Part, linear_part, model_of, with_ones
from lockstep_bench.bench.reference.sampled import sampled
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.datasets import Dataset, Source, Split, Standardisation
from lockstep_bench.methods.maths.predictive import Classes, Normals, Predictive
from lockstep_bench.shared.schema import POSTERIORS

SAMPLES = 10_000  # of the weights, for methods without moments in closed form
COMPARED = 100  # inputs at which predictions are compared
DRAWS_KEPT = 1000  # of two weights, for a figure
REFERENCE_SEED = 0  # independent of the run's seed: a reference posterior is computed once


class WeightRows:
    """The data matrix of an assignment: training and test rows, inputs to predict at, and unit vectors.

    The output of a linear model at a unit vector is one of its weights.

    Args:
        assignment: The method and the splits of the data set.

    Attributes:
        train_parts: The training part of each split, with its Bayesian model.
        test_parts: The test part of each split, which serves for tuning.
        inputs: (n, P), for each split, inputs at which predictions are compared, in the units of the training part.
        targets: (n,), for each split, targets at `inputs`, in the same units.
        data: All of these rows and the unit vectors, as one matrix.
        train: For each split, row numbers in `data` of the training part.
        test: For each split, row numbers in `data` of the test part.
        compared: For each split, row numbers in `data` of `inputs`.
        unit_vectors: (D,), row numbers in `data` of the unit vectors.
    """

    def __init__(self, assignment: Assignment):
        source, dataset, splits = assignment.source, assignment.dataset, assignment.splits
        self.train_parts = [linear_part(source, dataset, split.train) for split in splits]
        self.test_parts = [linear_part(source, dataset, split.test) for split in splits]
        self.inputs = [_test_inputs(source, dataset, split) for split in splits]
        self.targets = [_test_targets(source, dataset, split) for split in splits]
        unit_vectors = np.eye(assignment.tasks[0].network.dim)
        blocks = [(part.x, part.y) for part in (*self.train_parts, *self.test_parts)]
        blocks += [(x, np.zeros(len(x))) for x in (*self.inputs, unit_vectors)]
        ends = np.cumsum([len(y) for _, y in blocks])
        rows = [np.arange(end - len(y), end) for end, (_, y) in zip(ends, blocks, strict=True)]
        count = len(splits)
        self.train, self.test, self.compared = rows[:count], rows[count : 2 * count], rows[2 * count : 3 * count]
        self.unit_vectors = rows[-1]
        x, y = (np.concatenate(column) for column in zip(*blocks, strict=True))
        self.data = Data.of(x, y, assignment.device)


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> TunedEvaluation:
    """Return the evaluation of a job by the posterior of the weights of a linear model.

    Posteriors are compared with the reference posterior given the same rows. Trials are fitted to the test part of a
    split, and the final fit to its training part.

    The precisions of the model are not tuned, because the reference posterior depends on them.
    """
    assignment = Assignment.of(job, device)
    return TunedEvaluation(job, assignment, assignment.facts, partial(_prepared_fits, assignment), on_progress)


def _prepared_fits(assignment: Assignment, progress: ProgressReporter) -> PreparedFits:
    require_equal_sizes(assignment)
    rows = WeightRows(assignment)
    effort = model_of(assignment.source).effort
    trainer = stacked_trainer(assignment, rows.data, progress, effort, standardise=False, dtype=torch.float64)
    largest = LargestFits(max(map(len, rows.test)), len(rows.train[0]))
    n_ood, splits = len(assignment.dataset.ood), []
    for place, (train, test) in enumerate(zip(rows.train, rows.test, strict=True)):
        held_out = HeldOut(test, place, settled=rows.test_parts[place].hparams).alone
        settled = rows.train_parts[place].hparams
        splits.append(SplitFits.of(assignment, place, held_out, train, largest, len(test) + n_ood, settled))
    return PreparedFits(splits, trainer, WeightScorer(assignment, rows, progress))


class WeightScorer:
    """Scores trials by the scaled 2-Wasserstein distance to the reference posterior, as in the VIFA paper (4.2.1).

    Args:
        assignment: The method and the splits of the data set.
        rows: Data matrix and row numbers of the fits.
        progress: Receives the progress of sampling reference posteriors.
    """

    objective = "validation_w2_scaled"

    def __init__(self, assignment: Assignment, rows: WeightRows, progress: ProgressReporter):
        self._assignment, self._rows, self._progress = assignment, rows, progress
        self._references: dict[tuple[int, str], tuple[ReferencePosterior, GaussianTarget]] = {}

    def trials(self, fits: TrainedFits, scored_on: Sequence[int]) -> list[Score]:
        return [
            Score(self._reference(number, "tuning")[1].scaled_wasserstein(*moments))
            if _finite(*moments)
            else Score(np.nan, "moments of the weights are not finite")
            for moments, number in zip(self._moments(fits), scored_on, strict=True)
        ]

    def finals(self, fits: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        inputs = [self._rows.compared[number] for number in numbers]
        predictives, moments = fits.predict(inputs, self._assignment.protocol.samples), self._moments(fits)
        return [self._outcome(*each) for each in zip(numbers, known, moments, predictives, strict=True)]

    def _outcome(
        self, number: int, known: Outcome, moments: tuple[np.ndarray, np.ndarray], predictive: Predictive
    ) -> Outcome:
        problem = flaw(predictive, "compared points") if _finite(*moments) else "moments of the weights are not finite"
        if problem:
            return diverged(known, f"the final fit has no posterior to compare: {problem}")
        posterior, target = self._reference(number, "judged")
        mean, covariance = moments
        reference = self._reference_predictive(number, posterior)
        y = torch.tensor(self._rows.targets[number])
        metrics = {
            "nmll": nmll(predictive, y),
            **(evaluate_joint(predictive, y, float(y.std(correction=0))) if self._assignment.method.joint else {}),
            "rel_mean": target.relative_mean(mean),
            "rel_cov": target.relative_covariance(covariance),
            "w2_scaled": target.scaled_wasserstein(mean, covariance),
            "kl": target.kl(mean, covariance),
            **compare(predictive, reference),
        }
        diagnostics = {
            "w2_scaled_single": target.scaled_wasserstein_single(mean, covariance),
            "nmll_of_reference": nmll(reference, y),
        }
        return replace(
            known,
            status="ok",
            fit=known.trained_fit.with_diagnostics(**diagnostics),
            metrics=metrics,
            reference=json.dumps({"kind": posterior.kind, **posterior.facts}),
            tables={"posteriors": _table(moments, posterior)},
        )

    def _reference(self, number: int, which: str) -> tuple[ReferencePosterior, GaussianTarget]:
        """Return the reference posterior of a cell's train part ("judged") or test part ("tuning")."""
        if (number, which) not in self._references:
            part = (self._rows.train_parts if which == "judged" else self._rows.test_parts)[number]
            name = f"{self._assignment.name(number)}-{which}"
            posterior = reference_posterior(part, name, self._progress.activity(f"sampling the reference {name}"))
            target = GaussianTarget(posterior.mean, posterior.covariance, n_apart=int(part.bias))
            self._references[number, which] = posterior, target
        return self._references[number, which]

    def _moments(self, stack: TrainedFits) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return mean (D,) and covariance (D, D) of each fit's weights, in closed form where the method has one."""
        if (known := stack.moments()) is not None:
            return [(mean.cpu().numpy(), covariance.cpu().numpy()) for mean, covariance in known]
        predictives = stack.predict([self._rows.unit_vectors] * len(stack.fits), SAMPLES)
        samples = [_outputs(predictive) for predictive in predictives]
        return [(weights.mean(axis=0), np.atleast_2d(np.cov(weights.T, bias=True))) for weights in samples]

    def _reference_predictive(self, number: int, posterior: ReferencePosterior) -> Predictive:
        outputs = torch.tensor(posterior.draws @ self._rows.inputs[number].T)[..., None]
        return self._rows.train_parts[number].predictive(outputs, y_mean=0.0)


def _test_inputs(source: Source, dataset: Dataset, split: Split) -> np.ndarray:
    """Return inputs (n, P) of the test part, in the units of the train part's model."""
    x, model = dataset.x[split.test[:COMPARED]], model_of(source)
    if model.standardise:
        scaling = Standardisation.of(dataset.x, split.train)
        x = (x - scaling.mean) / scaling.scale
    return with_ones(x) if model.bias else x


def _test_targets(source: Source, dataset: Dataset, split: Split) -> np.ndarray:
    """Return targets (n,) of the test part, in the units of the train part's model, or class numbers."""
    y, model = dataset.y[split.test[:COMPARED]], model_of(source)
    centred = model.standardise and not model.bias and source.task == "regression"
    return np.asarray(y - dataset.y[split.train].mean()) if centred else y


def reference_posterior(part: Part, name: str, on_progress: Callable[[float], None]) -> ReferencePosterior:
    """Return the reference posterior of a linear model by the most exact method available: closed form, grid or NUTS.

    Args:
        part: Training rows and model.
        name: Name of the file that stores a sampled posterior.
        on_progress: Called with the fraction of draws that are done.
    """
    if part.likelihood.kind == "gaussian":
        return exact(part, REFERENCE_SEED)
    if part.network.dim == 2:
        return grid(part, REFERENCE_SEED)
    return sampled(part, name, REFERENCE_SEED, part.x[:0], on_progress)


def _outputs(predictive: Predictive) -> np.ndarray:
    """Return the linear model's outputs (S, n), recovered from its predictive."""
    if isinstance(predictive, Classes):
        return (predictive.log_probs[..., 1] - predictive.log_probs[..., 0]).cpu().numpy()
    assert isinstance(predictive, Normals)
    return predictive.mean.cpu().numpy()


def _finite(*arrays: np.ndarray) -> bool:
    return all(np.isfinite(array).all() for array in arrays)


def _table(moments: tuple[np.ndarray, np.ndarray], reference: ReferencePosterior) -> pa.Table:
    """Return both distributions' moments as `shared.schema.POSTERIORS`, with draws from a reference of two weights."""
    draws = None
    if len(reference.mean) == 2:
        generator = np.random.default_rng(REFERENCE_SEED)
        draws = generator.choice(reference.draws, size=min(DRAWS_KEPT, len(reference.draws)), replace=False)
    rows = [
        {"who": "method", "mean": moments[0], "covariance": moments[1].ravel(), "draws": None},
        {
            "who": "truth",
            "mean": reference.mean,
            "covariance": reference.covariance.ravel(),
            "draws": None if draws is None else draws.ravel(),
        },
    ]
    return pa.Table.from_pylist(rows, schema=POSTERIORS)
