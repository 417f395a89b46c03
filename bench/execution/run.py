"""Running of a job in this process. Failures become results too, with a status and an error message."""

import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import torch

from lockstep_bench import methods
from lockstep_bench.bench.engine.explanations import meaning_of
from lockstep_bench.bench.engine.native_training import noted_obstacles
from lockstep_bench.bench.environment import memory
from lockstep_bench.bench.environment.process import settle
from lockstep_bench.bench.evaluation.tuning.storing import StudyNotStored
from lockstep_bench.bench.execution.returned import NOT_NATIVE, provenance
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.results.record import CellResult, Outcome, class_name
from lockstep_bench.bench.results.storage import cannot_store


def ready(device: str, threads: int, *, on_progress: OnProgress) -> str:
    """Prepare this process to run jobs, and return the name of its device.

    Args:
        device: Torch's name of the device.
        threads: Threads that torch may use.
        on_progress: Never called; `Supervised.call` passes it to every function.
    """
    settle(threads)
    return _name_of(torch.device(device))


def run(
    job: Job,
    device: str = "cpu",
    exclusive: bool | None = None,
    *,
    on_progress: OnProgress = lambda progress: None,
) -> list[CellResult]:
    """Run the cells of a job side by side, and return the result of each cell, with its encoded files.

    An exception becomes the status and error of every cell that has no status yet.

    Args:
        job: The job.
        device: Torch's name of the device.
        exclusive: Whether no other work uses the device, so that times are exact; None if unknown.
        on_progress: Called now and then with the progress of the job.

    Raises:
        StudyNotStored: An Optuna study cannot be stored. This is not a failure of any cell.
    """
    started = time.perf_counter()
    place = torch.device(device)
    memory.reset_peak(place)
    outcomes: Sequence[Outcome] = [Outcome() for _ in job.cells]
    with noted_obstacles() as obstacles:
        try:
            evaluation = SUITES[job.cells[0].suite].kind.evaluation(job, place, on_progress)
            for known in evaluation.run():
                outcomes = known
        except Exception as problem:
            # An error in a file of the method's own is that cell's failure.
            if isinstance(problem, StudyNotStored) and cannot_store(problem, {path.parent for path in job.journals}):
                raise
            _explain(problem, job.cells[0].method)
            outcomes = [outcome if outcome.status else _failed(outcome, problem) for outcome in outcomes]
    log = "\n".join(f"{NOT_NATIVE}{reason}" for reason in dict.fromkeys(obstacles.values())) or None
    if log:
        print(log, file=sys.stderr)
    peak_mib, seconds = memory.peak_mib(place), time.perf_counter() - started
    results = [
        CellResult(
            cell=cell,
            outcome=outcome,
            provenance=provenance(cell, _name_of(place)),
            elapsed_seconds=seconds,
            peak_memory_mib=peak_mib,
            exclusive=exclusive,
            log=log,
        )
        for cell, outcome in zip(job.cells, outcomes, strict=True)
    ]
    for result in results:
        with suppress(Exception):  # what cannot be stored becomes a failure where it is stored
            _ = result.files
    return results


def _explain(problem: Exception, method: str) -> None:
    """Add a note to an exception: which rule of the method contract was broken, and in which line."""
    with suppress(Exception):  # an exception of a method's own may raise another one when it is asked for its text
        if meaning := meaning_of(problem, methods.get(method)):
            problem.add_note(meaning)


def _failed(outcome: Outcome, problem: Exception) -> Outcome:
    error = "".join(traceback.format_exception(problem, limit=-6))
    return replace(outcome, status="failed", error=error, error_class=class_name(problem))


def _name_of(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
