"""How close is an approximate posterior to the true one? Cells that are judged by that, and the truths."""

from typing import Any

import torch

import datasets
from bench.evaluation.evaluation import Pack
from bench.experiment.jobs import Job
from bench.experiment.progress import Tell


def pack_of(job: Job, device: torch.device, found: list[dict[str, Any]], tell: Tell) -> Pack:
    """The steps of a job whose data set's model is linear, or a network."""
    from bench.evaluation.function_posterior import FunctionPack
    from bench.evaluation.weight_posterior import WeightPack

    kind = FunctionPack if datasets.entry(job.cells[0].dataset).model.hidden else WeightPack
    return kind(job, device, found, tell)
