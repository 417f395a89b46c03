"""The calls that the main process makes to workers. Only in a worker's process do these functions import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockstep_bench.bench.experiment.jobs import Job
    from lockstep_bench.bench.experiment.progress import OnProgress
    from lockstep_bench.bench.results.record import CellResult


def ready(device: str, threads: int, *, on_progress: OnProgress) -> str:
    """Call `bench.execution.run.ready`."""
    from lockstep_bench.bench.execution import run

    return run.ready(device, threads, on_progress=on_progress)


def run(job: Job, device: str, exclusive: bool | None, *, on_progress: OnProgress) -> list[CellResult]:
    """Call `bench.execution.run.run`."""
    from lockstep_bench.bench.execution import run

    return run.run(job, device, exclusive, on_progress=on_progress)
