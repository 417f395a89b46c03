"""Evaluation by the distance to a reference posterior: of the weights, or of a network's function."""

import torch

import datasets
from bench.evaluation.evaluation import Evaluation
from bench.experiment.jobs import Job
from bench.experiment.progress import OnProgress


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> Evaluation:
    """Return the evaluation of a job whose data set's model is linear, or a network."""
    from bench.evaluation.function_posterior import FunctionPosteriorEvaluation
    from bench.evaluation.weight_posterior import WeightPosteriorEvaluation

    hidden = datasets.entry(job.cells[0].dataset).model.hidden
    return (FunctionPosteriorEvaluation if hidden else WeightPosteriorEvaluation)(job, device, on_progress)
