"""Evaluation of networks by comparing their predictions with those of a reference posterior, sampled by NUTS.

Weights are not compared, because many modes of their posterior describe the same function.
"""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import torch
from torch.func import vmap

from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.prediction import PredictionRows, prepared_fits
from lockstep_bench.bench.evaluation.tuned import PreparedFits, TunedEvaluation
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.metrics.agreement import compare, sd_ratio
from lockstep_bench.bench.reference.problem import model_of, network_part
from lockstep_bench.bench.reference.sampled import sampled
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.datasets import Source, Standardisation
from lockstep_bench.methods.maths.predictive import Normals, Predictive
from lockstep_bench.shared.schema import BANDS

REFERENCE_SEED = 0  # independent of the run's seed: a reference posterior is sampled once


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> TunedEvaluation:
    """Return the evaluation of a job in the suite of reference posteriors, for data sets with a network.

    Predictions are scored on the test rows, and compared with the predictions of NUTS given the same training rows.

    The precisions of the model are not tuned, because the reference posterior depends on them.
    """
    assignment = Assignment.of(job, device)
    rows = PredictionRows(assignment)
    return TunedEvaluation(job, assignment, rows.facts, partial(_prepared_fits, assignment, rows), on_progress)


def _prepared_fits(assignment: Assignment, rows: PredictionRows, progress: ProgressReporter) -> PreparedFits:
    comparison = FunctionComparison(assignment, progress)
    return prepared_fits(
        assignment, rows, progress, settled=settled_by(assignment.source), compared=comparison.compared
    )


def settled_by(source: Source) -> dict[str, float]:
    """Return the hyper-parameters that a data set's Bayesian model fixes, such as the precisions."""
    model = model_of(source)
    precisions = {"prior_precision": model.prior_precision, "noise_precision": model.noise_precision}
    return {name: value for name, value in precisions.items() if value is not None}


class FunctionComparison:
    """Compares the predictions of networks with those of the reference posterior.

    Args:
        assignment: The method and the splits of the data set.
        progress: Receives the progress of NUTS.
    """

    def __init__(self, assignment: Assignment, progress: ProgressReporter):
        self._assignment, self._progress = assignment, progress

    def compared(self, number: int, outcome: Outcome, predictive: Predictive, ood: Predictive | None) -> Outcome:
        """Return `outcome` with the distances from the reference posterior added, at the test and the OOD points."""
        assignment = self._assignment
        at_test, at_ood, facts = self._reference(number)
        metrics, tables = {**outcome.metrics, **compare(predictive, at_test)}, dict(outcome.tables)
        if isinstance(ood, Normals) and assignment.source.n_features == 1:
            x, train = assignment.dataset.ood[:, 0], assignment.dataset.x[assignment.splits[number].train, 0]
            for name, where in zip(("sd_ratio_between", "sd_ratio_far"), regions(x, train), strict=True):
                metrics[name] = sd_ratio(ood.mean[:, where], at_ood.mean[:, where])
            tables["bands"] = _bands(x, ood, at_ood)
        reference = json.dumps({"kind": "nuts", **facts})
        return replace(outcome, metrics=metrics, reference=reference, tables=tables)

    def _reference(self, number: int) -> tuple[Normals, Normals, dict[str, float]]:
        """Return the reference posterior's predictives at the test points and at the OOD points, and its quality."""
        dataset, split, name = self._assignment.dataset, self._assignment.splits[number], self._assignment.name(number)
        part = network_part(self._assignment.source, dataset, split.train)
        scaling, y_scaling = (Standardisation.of(each, split.train) for each in (dataset.x, dataset.y))
        x = (np.concatenate([dataset.x[split.test], dataset.ood]) - scaling.mean) / scaling.scale
        reference = sampled(part, name, REFERENCE_SEED, x, self._progress.activity(f"sampling the reference {name}"))
        outputs = vmap(part.network, in_dims=(0, None), chunk_size=500)(torch.tensor(reference.draws), torch.tensor(x))
        predictive = part.predictive(outputs, float(y_scaling.mean))
        sizes = [len(split.test), len(dataset.ood)]
        pieces = zip(*(moment.split(sizes, dim=1) for moment in predictive), strict=True)
        at_test, at_ood = (Normals(*pair) for pair in pieces)
        return at_test, at_ood, reference.facts


def regions(x: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two boolean masks (n,): points in the widest gap between training inputs, and points outside their range.

    Args:
        x: (n,), the points.
        train: (N,), training inputs.
    """
    ordered = np.sort(train)
    widest = np.argmax(np.diff(ordered))
    between = (x > ordered[widest]) & (x < ordered[widest + 1])
    return between, (x < ordered[0]) | (x > ordered[-1])


def _bands(x: np.ndarray, predictive: Normals, reference: Normals) -> pa.Table:
    """Return the two functions' means and standard deviations at points x (n,), as `shared.schema.BANDS`."""

    def moments(normals: Normals) -> tuple[np.ndarray, np.ndarray]:
        return normals.mean.double().mean(0).numpy(), normals.mean.double().std(0, correction=0).numpy()

    noise = predictive.variance.double().mean(0).sqrt().numpy()
    columns = (x, *moments(predictive), *moments(reference), noise)
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=BANDS)
