"""Evaluation of methods by the decisions that they lead to: bandits, optimisation or active learning."""

import torch

from lockstep_bench import datasets
from lockstep_bench.bench.evaluation.active_learning import ActiveLearningEvaluation
from lockstep_bench.bench.evaluation.bandits import BanditEvaluation
from lockstep_bench.bench.evaluation.optimisation import OptimisationEvaluation
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.datasets.synthetic.bandits import Bandit
from lockstep_bench.datasets.synthetic.pools import Optimised

Evaluation = BanditEvaluation | OptimisationEvaluation | ActiveLearningEvaluation


def evaluation_of(job: Job, device: torch.device, on_progress: OnProgress) -> Evaluation:
    """Return the evaluation of a job on its kind of decisions; the arguments are those of `BanditEvaluation`."""
    source = datasets.entry(job.cells[0].dataset)
    if isinstance(source, Bandit):
        return BanditEvaluation(job, device, on_progress)
    if isinstance(source, Optimised):
        return OptimisationEvaluation(job, device, on_progress)
    return ActiveLearningEvaluation(job, device, on_progress)
