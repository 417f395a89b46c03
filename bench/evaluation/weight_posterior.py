"""Evaluation of linear models by the distance of their weight distribution from the reference posterior."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from optuna.distributions import BaseDistribution

from lockstep_bench.bench.engine.replica import Data, Fit
from lockstep_bench.bench.engine.seeds import seed_of
from lockstep_bench.bench.engine.trained import TrainedFits
from lockstep_bench.bench.evaluation.evaluation import diverged
from lockstep_bench.bench.evaluation.tuned import Score, TunedEvaluation
from lockstep_bench.bench.metrics import flaw
from lockstep_bench.bench.metrics.agreement import compare
from lockstep_bench.bench.reference.distances import Target
from lockstep_bench.bench.reference.posterior import ReferencePosterior, exact, grid
from lockstep_bench.bench.reference.problem import Part, linear_part, model_of, with_ones
from lockstep_bench.bench.reference.sampled import sampled
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.bench.schema import POSTERIORS
from lockstep_bench.datasets import Standardisation
from lockstep_bench.methods.maths.predictive import Classes, Normals, Predictive

SAMPLES = 10_000  # of the weights, for methods without moments in closed form
COMPARED = 100  # inputs at which predictions are compared
DRAWS_KEPT = 1000  # of two weights, for a figure
REFERENCE_SEED = 0  # independent of the run's seed: a reference posterior is computed once


class Rows(NamedTuple):
    """Rows of the data matrix of a job.

    Attributes:
        train: Rows of each cell's train part.
        test: Rows of each cell's test part, on which it is tuned.
        inputs: Rows of the inputs at which each cell's predictions are compared.
        unit_vectors: (D,) rows at which the output of a linear model is a weight.
    """

    train: list[np.ndarray]
    test: list[np.ndarray]
    inputs: list[np.ndarray]
    unit_vectors: np.ndarray


class WeightPosteriorEvaluation(TunedEvaluation):
    """Tuning by the distance to the reference posterior of the test part, and scores against that of the train part.

    Trials are scored by the scaled 2-Wasserstein distance, as in the VIFA paper (section 4.2.1). The precisions of the
    model are not tuned, because the reference posterior depends on them.
    """

    objective = "validation_w2_scaled"
    standardise = False
    dtype = torch.float64
    fits_per_trial = 1

    @property
    def effort(self) -> float:
        return model_of(self.source).effort

    def space(self, number: int) -> dict[str, BaseDistribution]:
        fixed = self._train_parts[0].hparams
        return {name: each for name, each in self.method_space(number).items() if name not in fixed}

    @property
    def data(self) -> Data:
        return self._data_and_rows[0]

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, int]]:
        seed = seed_of(self.cells[number].fit_seed, "trial", trial)
        return [(Fit(self._rows.test[number], {**hparams, **self._test_parts[number].hparams}, seed), number)]

    def trial_scores(self, stack: TrainedFits, scored_on: Sequence[int]) -> list[Score]:
        return [
            Score(self._reference(number, "tuning")[1].scaled_wasserstein(*moments))
            if _finite(*moments)
            else Score(np.nan, "moments of the weights are not finite")
            for moments, number in zip(self._moments(stack), scored_on, strict=True)
        ]

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        fixed = self._train_parts[number].hparams
        return Fit(self._rows.train[number], {**hparams, **fixed}, self.final_seed(number))

    def final_outcomes(self, stack: TrainedFits, numbers: Sequence[int], known: Sequence[Outcome]) -> list[Outcome]:
        predictives = stack.predict([self._rows.inputs[number] for number in numbers], self.protocol.samples)
        moments = self._moments(stack)
        return [self._outcome(*each) for each in zip(numbers, known, moments, predictives, strict=True)]

    def _outcome(
        self, number: int, known: Outcome, moments: tuple[np.ndarray, np.ndarray], predictive: Predictive
    ) -> Outcome:
        problem = flaw(predictive, "compared points") if _finite(*moments) else "moments of the weights are not finite"
        if problem:
            return diverged(known, f"the final fit has no posterior to compare: {problem}")
        posterior, target = self._reference(number, "judged")
        mean, covariance = moments
        metrics = {
            "rel_mean": target.relative_mean(mean),
            "rel_cov": target.relative_covariance(covariance),
            "w2_scaled": target.scaled_wasserstein(mean, covariance),
            "kl": target.kl(mean, covariance),
            **compare(predictive, self._reference_predictive(number, posterior)),
        }
        return replace(
            known,
            status="ok",
            fit=known.trained_fit.with_diagnostics(w2_scaled_single=target.scaled_wasserstein_single(mean, covariance)),
            metrics=metrics,
            reference=json.dumps({"kind": posterior.kind, **posterior.facts}),
            tables={"posteriors": _table(moments, posterior)},
        )

    @cached_property
    def _train_parts(self) -> list[Part]:
        return [linear_part(self.source, self.dataset, split.train) for split in self.splits]

    @cached_property
    def _test_parts(self) -> list[Part]:
        return [linear_part(self.source, self.dataset, split.test) for split in self.splits]

    @cached_property
    def _inputs(self) -> list[np.ndarray]:
        return [self._test_inputs(number) for number in range(len(self.splits))]

    @property
    def _rows(self) -> Rows:
        return self._data_and_rows[1]

    @cached_property
    def _data_and_rows(self) -> tuple[Data, Rows]:
        """One data matrix of all parts, of the inputs to compare predictions at, and of the unit vectors."""
        unit_vectors = np.eye(self.task.network.dim)
        blocks = [(part.x, part.y) for part in (*self._train_parts, *self._test_parts)]
        blocks += [(x, np.zeros(len(x))) for x in (*self._inputs, unit_vectors)]
        ends = np.cumsum([len(y) for _, y in blocks])
        rows = [np.arange(end - len(y), end) for end, (_, y) in zip(ends, blocks, strict=True)]
        count = len(self.splits)
        x, y = (np.concatenate(column) for column in zip(*blocks, strict=True))
        data = Data.of(x, y, self.device)
        return data, Rows(rows[:count], rows[count : 2 * count], rows[2 * count : 3 * count], rows[-1])

    def _test_inputs(self, number: int) -> np.ndarray:
        """Return inputs (n, P) of the test part, in the units of the train part's model."""
        split = self.splits[number]
        x = self.dataset.x[split.test[:COMPARED]]
        model = model_of(self.source)
        if model.standardise:
            scaling = Standardisation.of(self.dataset.x, split.train)
            x = (x - scaling.mean) / scaling.scale
        return with_ones(x) if model.bias else x

    @cached_property
    def _references(self) -> dict[tuple[int, str], tuple[ReferencePosterior, Target]]:
        """Reference posteriors computed so far, by cell and part."""
        return {}

    def _reference(self, number: int, which: str) -> tuple[ReferencePosterior, Target]:
        """Return the reference posterior of a cell's train part ("judged") or test part ("tuning")."""
        if (number, which) not in self._references:
            part = (self._train_parts if which == "judged" else self._test_parts)[number]
            name = f"{self.cells[number].dataset}-split{self.cells[number].split:02d}-{which}"
            posterior = reference_posterior(part, name, self.progress.activity(f"sampling the reference {name}"))
            target = Target(posterior.mean, posterior.covariance, n_apart=int(part.bias))
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
        outputs = torch.tensor(posterior.draws @ self._inputs[number].T)[..., None]
        return self._train_parts[number].predictive(outputs, y_mean=0.0)


def reference_posterior(part: Part, name: str, on_progress: Callable[[float], None]) -> ReferencePosterior:
    """Return the posterior of a linear part by the most exact method available: closed form, grid or NUTS.

    Args:
        part: Training rows and model.
        name: Name of the file that stores a sampled posterior.
        on_progress: Is called with the fraction that is sampled.
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
    """Return both distributions' moments as `bench.schema.POSTERIORS`, with draws from a reference of two weights."""
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
