"""Evaluation of networks by their functions' distance to kept draws of the posterior (suite `function-posterior`).

Predictions are scored on all test rows, and compared with the reference at the first of them.
"""

import json
from dataclasses import replace
from functools import partial

import torch

from lockstep_bench.bench.evaluation.assignment import Assignment
from lockstep_bench.bench.evaluation.function_posterior import settled_by
from lockstep_bench.bench.evaluation.prediction import PredictionRows, prepared_fits
from lockstep_bench.bench.evaluation.tuned import PreparedFits, TunedEvaluation
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress, ProgressReporter
from lockstep_bench.bench.metrics.agreement import compare
from lockstep_bench.bench.metrics.functions import function_distances
from lockstep_bench.bench.reference.kept import AGREEMENTS, PROBES, agreements, reference_of
from lockstep_bench.bench.reference.networks import part_of
from lockstep_bench.bench.reference.problem import model_of
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.datasets import Standardisation
from lockstep_bench.methods.maths.predictive import Normals, Predictive

FACTS = ("sampler", "chains", "r_hat", "effective_samples")  # of a reference, that a row keeps


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> TunedEvaluation:
    """Return the evaluation of a job in the suite of the posteriors of networks.

    The noise is that of the data set's model: predicted by the network if the model has no noise precision. Precisions
    are not tuned, because the reference depends on them.
    """
    assignment = with_noise_of_model(Assignment.of(job, device))
    rows = PredictionRows(assignment)
    return TunedEvaluation(job, assignment, rows.facts, partial(_prepared_fits, assignment, rows), on_progress)


def with_noise_of_model(assignment: Assignment) -> Assignment:
    """Return an assignment with the likelihood of the reference posterior, "heteroscedastic" if noise is predicted."""
    if model_of(assignment.source).noise_precision is not None:
        return assignment
    return replace(assignment, protocol=assignment.protocol.changed(likelihood="heteroscedastic"))


def _prepared_fits(assignment: Assignment, rows: PredictionRows, progress: ProgressReporter) -> PreparedFits:
    compared = Comparison(assignment, progress).compared
    return prepared_fits(assignment, rows, progress, settled=settled_by(assignment.source), compared=compared)


class Comparison:
    """Compares the predictions of networks with those of the reference posterior.

    Args:
        assignment: The method and the data set.
        progress: Receives the progress of sampling a reference that is not kept.
    """

    def __init__(self, assignment: Assignment, progress: ProgressReporter):
        self._assignment, self._progress = assignment, progress

    def compared(self, number: int, outcome: Outcome, predictive: Predictive, ood: Predictive | None) -> Outcome:
        """Return `outcome` with the distances from the reference posterior added.

        Distances are of predictives that are mixtures of normals; other predictives get none.
        """
        source, dataset = self._assignment.source, self._assignment.dataset
        progress = self._progress.activity(f"sampling the reference {source.name}")
        reference = reference_of(source, dataset, progress)
        verdict = agreements(AGREEMENTS).get(source.name, {}).get("verdict", "not compared")
        facts = {"kind": "hmc", **{name: reference.facts[name] for name in FACTS}, "samplers": verdict}
        outcome = replace(outcome, reference=json.dumps(facts))
        if not isinstance(predictive, Normals):
            return outcome
        train = self._assignment.splits[number].train
        theirs = reference.predictive(part_of(source, dataset, train), float(Standardisation.of(dataset.y, train).mean))
        ours = Normals(*(part[:, :PROBES] for part in predictive))
        distances = function_distances(ours, theirs, self._assignment.method.joint)
        return replace(outcome, metrics={**outcome.metrics, **compare(ours, theirs), **distances})
