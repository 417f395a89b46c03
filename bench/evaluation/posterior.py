"""Evaluation by the distance to a reference posterior: of the weights of a linear model, or of network predictions."""

import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation.tuned import TunedEvaluation
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.reference.problem import model_of


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> TunedEvaluation:
    """Return the evaluation of a job: by the weights of a linear model, or by the predictions of a network."""
    from lockstep_bench.bench.evaluation import function_posterior, weight_posterior

    hidden = model_of(datasets.entry(job.cells[0].dataset)).hidden
    if hidden:
        return function_posterior.evaluation_of(job, device, on_progress)
    return weight_posterior.evaluation_of(job, device, on_progress)
