"""Linear models: a method's distribution of the weights against the true one."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import datasets
from bench.engine.replica import Data, Fit
from bench.engine.seeds import seed_of
from bench.engine.trained import TrainedFits
from bench.evaluation.evaluation import Pack
from bench.experiment.jobs import End, Job
from bench.experiment.progress import Tell
from bench.metrics.agreement import compare
from bench.reference.distances import Target
from bench.reference.posterior import Truth, exact, grid
from bench.reference.problem import Part, linear_part
from bench.reference.sampled import sampled
from bench.schema import POSTERIORS
from datasets import Standardisation
from methods.maths.predictive import Classes, Predictive

SAMPLES = 10_000  # of the weights, where a method's moments are not known in closed form
COMPARED = 100  # inputs at which predictions are compared
DRAWS_KEPT = 1000  # of two weights, to be drawn
TRUTH_SEED = 0  # not the run's: a truth is computed once


class WeightPack(Pack):
    """Tunes against the posterior of the test part, and judges by that of the train part.

    Trials are scored by the scaled 2-Wasserstein distance, as in the VIFA paper (section 4.2.1). The model's precisions
    are not tuned: they belong to the truth.
    """

    objective = "validation_w2_scaled"
    standardise = False
    dtype = torch.float64
    fits_per_trial = 1

    def __init__(self, job: Job, device: torch.device, found: list[dict[str, Any]], tell: Tell):
        super().__init__(job, device, found, tell)
        source = datasets.entry(self.cells[0].dataset)
        self.effort = source.model.effort
        pairs = [[linear_part(source, self.dataset, rows) for rows in (s.train, s.test)] for s in self.splits]
        self._judged, self._tuned_on = zip(*pairs, strict=True)
        fixed = self._judged[0].hparams
        self.space = {name: one for name, one in self.space.items() if name not in fixed}
        self._inputs = [self._test_inputs(number) for number in range(len(self.splits))]
        self._lay_out()
        self._truths = {}

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, int]]:
        seed = seed_of(self.cells[number].fit_seed, "trial", trial)
        return [(Fit(self._tuning_rows[number], {**hparams, **self._tuned_on[number].hparams}, seed), number)]

    def scores(self, stack: TrainedFits, by: Sequence[int]) -> list[float]:
        return [
            self._target("tuning", number).scaled_wasserstein(*own) if _finite(*own) else np.nan
            for own, number in zip(self._moments(stack), by, strict=True)
        ]

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        fixed = self._judged[number].hparams
        return Fit(self._judged_rows[number], {**hparams, **fixed}, self.final_seed(number))

    def judge(self, stack: TrainedFits, numbers: Sequence[int]) -> list[End]:
        predictives = stack.predict([self._input_rows[number] for number in numbers], self.protocol.samples)
        moments = self._moments(stack)
        return [self._end(*one) for one in zip(numbers, moments, predictives, strict=True)]

    def _end(self, number: int, moments: tuple[np.ndarray, np.ndarray], predictive: Predictive) -> End:
        if not (_finite(*moments) and all(part.isfinite().all() for part in predictive)):
            return End("diverged", "the final fit has moments or predictions that are not finite")
        truth, target = self._truth("judged", number), self._target("judged", number)
        mean, covariance = moments
        self.found[number] |= {
            "rel_mean": target.relative_mean(mean),
            "rel_cov": target.relative_covariance(covariance),
            "w2_scaled": target.scaled_wasserstein(mean, covariance),
            "kl": target.kl(mean, covariance),
            "reference": json.dumps({"kind": truth.kind, **truth.facts}),
            **compare(predictive, self._true_predictive(number, truth)),
        }
        return End("ok", tables={"posteriors": _table(moments, truth, np.random.default_rng(TRUTH_SEED))})

    def _lay_out(self) -> None:
        """One data matrix: the rows of each part, the inputs to compare predictions at, the unit vectors."""
        unit_vectors = np.eye(self.task.network.dim)  # where a linear model's output is a weight
        blocks = [(part.x, part.y) for part in (*self._judged, *self._tuned_on)]
        blocks += [(x, np.zeros(len(x))) for x in (*self._inputs, unit_vectors)]
        ends = np.cumsum([len(y) for _, y in blocks])
        rows = [np.arange(end - len(y), end) for end, (_, y) in zip(ends, blocks, strict=True)]
        count = len(self.splits)
        self._judged_rows, self._tuning_rows = rows[:count], rows[count : 2 * count]
        self._input_rows, self._probes = rows[2 * count : 3 * count], rows[-1]
        self.data = Data.of(*(np.concatenate(column) for column in zip(*blocks, strict=True)), self.device)

    def _test_inputs(self, number: int) -> np.ndarray:
        """Inputs of the test part, in the units of the train part's model."""
        split = self.splits[number]
        x = self.dataset.x[split.test[:COMPARED]]
        if not datasets.entry(self.cells[number].dataset).model.standardise:
            return x
        scaling = Standardisation.of(self.dataset.x, split.train)
        return (x - scaling.mean) / scaling.scale

    def _truth(self, which: str, number: int) -> Truth:
        if (which, number) not in self._truths:
            part = (self._judged if which == "judged" else self._tuned_on)[number]
            name = f"{self.cells[number].dataset}-split{self.cells[number].split:02d}-{which}"
            truth = truth_of(part, name, self.progress.aside(f"sampling the reference {name}"))
            self._truths[which, number] = truth, Target(truth.mean, truth.covariance)
        return self._truths[which, number][0]

    def _target(self, which: str, number: int) -> Target:
        self._truth(which, number)
        return self._truths[which, number][1]

    def _moments(self, stack: TrainedFits) -> list[tuple[np.ndarray, np.ndarray]]:
        """Mean (D,) and covariance (D, D) of each fit's weights: in closed form where the method knows it."""
        if (known := stack.moments()) is not None:
            return [(mean.cpu().numpy(), covariance.cpu().numpy()) for mean, covariance in known]
        samples = [_outputs(one) for one in stack.predict([self._probes] * len(stack.fits), SAMPLES)]
        return [(own.mean(axis=0), np.atleast_2d(np.cov(own.T, bias=True))) for own in samples]

    def _true_predictive(self, number: int, truth: Truth) -> Predictive:
        outputs = torch.tensor(truth.draws @ self._inputs[number].T)[..., None]
        return self._judged[number].predictive(outputs, y_mean=0.0)


def truth_of(part: Part, name: str, tell: Callable[[float], None]) -> Truth:
    """The posterior of a linear part, in the most exact way that there is; `tell` is told the fraction sampled."""
    if part.likelihood.kind == "gaussian":
        return exact(part, TRUTH_SEED)
    if part.network.dim == 2:
        return grid(part, TRUTH_SEED)
    return sampled(part, name, TRUTH_SEED, part.x[:0], tell)


def _outputs(predictive: Predictive) -> np.ndarray:
    """The linear model's outputs (S, n) that a predictive was made of."""
    if isinstance(predictive, Classes):
        return (predictive.log_probs[..., 1] - predictive.log_probs[..., 0]).cpu().numpy()
    return predictive.mean.cpu().numpy()


def _finite(*arrays: np.ndarray) -> bool:
    return all(np.isfinite(array).all() for array in arrays)


def _table(moments: tuple[np.ndarray, np.ndarray], truth: Truth, generator: np.random.Generator) -> pa.Table:
    """Both distributions' moments; of two weights also draws of the truth, which need not be Gaussian."""
    dim = len(truth.mean)
    draws = generator.choice(truth.draws, size=min(DRAWS_KEPT, len(truth.draws)), replace=False) if dim == 2 else None
    rows = [
        {"who": "method", "mean": moments[0], "covariance": moments[1].ravel(), "draws": None},
        {
            "who": "truth",
            "mean": truth.mean,
            "covariance": truth.covariance.ravel(),
            "draws": None if draws is None else draws.ravel(),
        },
    ]
    return pa.Table.from_pylist(rows, schema=POSTERIORS)
