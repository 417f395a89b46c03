"""Evaluation by the distance to a reference posterior: of the weights, or of a network's function."""

import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation.evaluation import Evaluation
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.reference.problem import model_of


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> Evaluation:
    """Return the evaluation of a job: of weights if the data set's model is linear, of functions if it is a network."""
    from lockstep_bench.bench.evaluation.function_posterior import FunctionPosteriorEvaluation
    from lockstep_bench.bench.evaluation.weight_posterior import WeightPosteriorEvaluation

    hidden = model_of(datasets.entry(job.cells[0].dataset)).hidden
    return (FunctionPosteriorEvaluation if hidden else WeightPosteriorEvaluation)(job, device, on_progress)
