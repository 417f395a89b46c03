"""Networks: a method's predictions against those of draws from the true posterior.

The weights' posterior has many modes that are the same function, so weights are not compared.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch.func import vmap

import datasets
from bench.engine.replica import Fit
from bench.evaluation.prediction import PredictionPack
from bench.experiment.jobs import End, Job
from bench.experiment.progress import Tell
from bench.metrics.agreement import compare, sd_ratio
from bench.reference.problem import network_part
from bench.reference.sampled import sampled
from bench.schema import BANDS
from datasets import Standardisation
from methods.maths.predictive import Normals, Predictive

TRUTH_SEED = 0  # not the run's: a truth is computed once


class FunctionPack(PredictionPack):
    """Tunes and predicts as `PredictionPack` does, and compares with NUTS on the same training rows.

    The model's precisions are not tuned: they belong to the truth.
    """

    def __init__(self, job: Job, device: torch.device, found: list[dict[str, Any]], tell: Tell):
        super().__init__(job, device, found, tell)
        self._source = datasets.entry(self.cells[0].dataset)
        model = self._source.model
        self._fixed = {"prior_precision": model.prior_precision, "noise_precision": model.noise_precision}
        self.space = {name: one for name, one in self.space.items() if name not in self._fixed}

    def trial_fits(self, number: int, trial: int, hparams: Mapping[str, float]) -> list[tuple[Fit, np.ndarray]]:
        return super().trial_fits(number, trial, {**hparams, **self._fixed})

    def final_fit(self, number: int, hparams: Mapping[str, float]) -> Fit:
        return super().final_fit(number, {**hparams, **self._fixed})

    def score(self, number: int, predictive: Predictive, ood: Predictive | None) -> End:
        end = super().score(number, predictive, ood)
        if end.status != "ok":
            return end
        at_test, at_ood, facts = self._reference(number)
        self.found[number] |= {"reference": json.dumps({"kind": "nuts", **facts}), **compare(predictive, at_test)}
        if ood is None or self._source.n_features > 1:
            return end
        x, train = self.dataset.ood[:, 0], self.dataset.x[self.splits[number].train, 0]
        for name, where in zip(("sd_ratio_between", "sd_ratio_far"), regions(x, train), strict=True):
            self.found[number][name] = sd_ratio(ood.mean[:, where], at_ood.mean[:, where])
        return replace(end, tables={**end.tables, "bands": _bands(x, ood, at_ood)})

    def _reference(self, number: int) -> tuple[Normals, Normals, dict[str, float]]:
        """The true posterior's predictives at the test points and at the OOD points."""
        split, name = self.splits[number], f"{self.cells[number].dataset}-split{self.cells[number].split:02d}"
        part = network_part(self._source, self.dataset, split.train)
        scaling, y_scaling = (Standardisation.of(one, split.train) for one in (self.dataset.x, self.dataset.y))
        x = (np.concatenate([self.dataset.x[split.test], self.dataset.ood]) - scaling.mean) / scaling.scale
        truth = sampled(part, name, TRUTH_SEED, x, self.progress.aside(f"sampling the reference {name}"))
        outputs = vmap(part.network, in_dims=(0, None), chunk_size=500)(torch.tensor(truth.draws), torch.tensor(x))
        found = part.predictive(outputs, float(y_scaling.mean))
        cut = [len(split.test), len(self.dataset.ood)]
        at_test, at_ood = (Normals(*pair) for pair in zip(*(one.split(cut, dim=1) for one in found), strict=True))
        return at_test, at_ood, truth.facts


def regions(x: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the points x (n,) lie in the widest gap between training inputs (N,), and which outside their range."""
    ordered = np.sort(train)
    widest = np.argmax(np.diff(ordered))
    between = (x > ordered[widest]) & (x < ordered[widest + 1])
    return between, (x < ordered[0]) | (x > ordered[-1])


def _bands(x: np.ndarray, ours: Normals, theirs: Normals) -> pa.Table:
    def moments(one: Normals) -> tuple[np.ndarray, np.ndarray]:
        return one.mean.double().mean(0).numpy(), one.mean.double().std(0, correction=0).numpy()

    noise = ours.variance.double().mean(0).sqrt().numpy()
    columns = (x, *moments(ours), *moments(theirs), noise)
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=BANDS)
