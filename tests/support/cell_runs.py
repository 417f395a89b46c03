"""Jobs of tiny cells (one method on one split each) for tests that run them in this process."""

import dataclasses

from lockstep_bench.bench.execution.run import run
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.record import CellResult
from lockstep_bench.shared.columns import METRICS
from lockstep_bench.shared.protocol import Protocol

TINY = Protocol(epochs=3, batch_size=50, trials=3, folds=3, samples=20, validation_samples=10)


def outcome_of(job: Job) -> CellResult:
    (outcome,) = run(job)
    return outcome


def side_by_side(*jobs: Job) -> Job:
    """Return one job that contains the cells of several jobs."""
    return dataclasses.replace(
        jobs[0], cells=tuple(job.cells[0] for job in jobs), journals=tuple(job.journals[0] for job in jobs)
    )


def elsewhere(job: Job) -> Job:
    """Return the job with another file for the tuning study of its cell."""
    return dataclasses.replace(job, journals=(job.journals[0].with_name("elsewhere.json"),))


def numbers(row: dict) -> dict:
    return {name: row.get(name) for name in (*METRICS, "validation_nmll", "hparams", "status", "n_parameters")}
