"""Evaluation of networks by the distance of their predictions from those of the reference posterior.

Weights are not compared, because many modes of their posterior are equal functions.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import torch
from optuna.distributions import BaseDistribution
from torch.func import vmap

from lockstep_bench.bench.engine.replica import Fit
from lockstep_bench.bench.evaluation.prediction import PredictionEvaluation
from lockstep_bench.bench.metrics.agreement import compare, sd_ratio
from lockstep_bench.bench.reference.problem import model_of, network_part
from lockstep_bench.bench.reference.sampled import sampled
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.bench.schema import BANDS
from lockstep_bench.datasets import Standardisation
from lockstep_bench.methods.maths.predictive import Normals, Predictive

REFERENCE_SEED = 0  # independent of the run's seed: a reference posterior is sampled once


class FunctionPosteriorEvaluation(PredictionEvaluation):
    """Evaluation by predictions, and by their distance from those of NUTS on the same training rows.

    The precisions of the model are not tuned, because the reference posterior depends on them.
    """

    @property
    def fixed(self) -> dict[str, float]:
        """Hyper-parameters that the model fixes."""
        model = model_of(self.source)
        precisions = {"prior_precision": model.prior_precision, "noise_precision": model.noise_precision}
        return {name: value for name, value in precisions.items() if value is not None}

    def space(self, number: int) -> dict[str, BaseDistribution]:
        return {name: each for name, each in self.method_space(number).items() if name not in self.fixed}

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, np.ndarray]]:
        return super().trial_fits(number, trial, {**hparams, **self.fixed})

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        return super().final_fit(number, {**hparams, **self.fixed})

    def score(self, number: int, known: Outcome, predictive: Predictive, ood: Predictive | None) -> Outcome:
        outcome = super().score(number, known, predictive, ood)
        if outcome.status != "ok":
            return outcome
        at_test, at_ood, facts = self._reference(number)
        metrics, tables = {**outcome.metrics, **compare(predictive, at_test)}, dict(outcome.tables)
        if isinstance(ood, Normals) and self.source.n_features == 1:
            x, train = self.dataset.ood[:, 0], self.dataset.x[self.splits[number].train, 0]
            for name, where in zip(("sd_ratio_between", "sd_ratio_far"), regions(x, train), strict=True):
                metrics[name] = sd_ratio(ood.mean[:, where], at_ood.mean[:, where])
            tables["bands"] = _bands(x, ood, at_ood)
        reference = json.dumps({"kind": "nuts", **facts})
        return replace(outcome, metrics=metrics, reference=reference, tables=tables)

    def _reference(self, number: int) -> tuple[Normals, Normals, dict[str, float]]:
        """Return the reference posterior's predictives at the test points and at the OOD points, and its quality."""
        split, name = self.splits[number], f"{self.cells[number].dataset}-split{self.cells[number].split:02d}"
        part = network_part(self.source, self.dataset, split.train)
        scaling, y_scaling = (Standardisation.of(each, split.train) for each in (self.dataset.x, self.dataset.y))
        x = (np.concatenate([self.dataset.x[split.test], self.dataset.ood]) - scaling.mean) / scaling.scale
        reference = sampled(part, name, REFERENCE_SEED, x, self.progress.activity(f"sampling the reference {name}"))
        outputs = vmap(part.network, in_dims=(0, None), chunk_size=500)(torch.tensor(reference.draws), torch.tensor(x))
        predictive = part.predictive(outputs, float(y_scaling.mean))
        sizes = [len(split.test), len(self.dataset.ood)]
        pieces = zip(*(moment.split(sizes, dim=1) for moment in predictive), strict=True)
        at_test, at_ood = (Normals(*pair) for pair in pieces)
        return at_test, at_ood, reference.facts


def regions(x: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two masks (n,) of the points in the widest gap between training inputs, and of those outside their range.

    Args:
        x: (n,) points.
        train: (N,) training inputs.
    """
    ordered = np.sort(train)
    widest = np.argmax(np.diff(ordered))
    between = (x > ordered[widest]) & (x < ordered[widest + 1])
    return between, (x < ordered[0]) | (x > ordered[-1])


def _bands(x: np.ndarray, predictive: Normals, reference: Normals) -> pa.Table:
    """Return the two functions' means and standard deviations at points x (n,), as `bench.schema.BANDS`."""

    def moments(normals: Normals) -> tuple[np.ndarray, np.ndarray]:
        return normals.mean.double().mean(0).numpy(), normals.mean.double().std(0, correction=0).numpy()

    noise = predictive.variance.double().mean(0).sqrt().numpy()
    columns = (x, *moments(predictive), *moments(reference), noise)
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=BANDS)
