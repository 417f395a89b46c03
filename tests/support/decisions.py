"""Evaluations of decisions (bandits, optimisation, active learning) in short cells, for tests in this process."""

from pathlib import Path

import torch

from lockstep_bench.bench.evaluation.decisions import Evaluation
from lockstep_bench.bench.evaluation.decisions import evaluation_of as evaluation_of_job
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.shared.protocol import Protocol

PROTOCOL = Protocol(sampler="centre", max_minibatches=5, batch_size=8, samples=7, stream_length=12)


def evaluation_of(method: str, name: str, splits=(0,), seed=0, rows=150, length=12) -> Evaluation:
    protocol = PROTOCOL.changed(stream_length=length)
    cells = tuple(Cell("decisions", name, method, split, "tiny", protocol, seed) for split in splits)
    job = Job(cells, tuple(Path("unused") for _ in cells), None, stack_rows=rows)
    return evaluation_of_job(job, torch.device("cpu"), lambda progress: None)


def outcomes(method: str, name: str, **options) -> list[Outcome]:
    *_, last = evaluation_of(method, name, **options).run()
    return last
