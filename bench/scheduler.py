"""Runs jobs on worker processes through joblib; a worker that dies takes no other job with it."""

import json
import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from bench.pack import Job
from bench.progress import Told
from bench.worker import Outcome, failed_row, run

MAX_SILENT_DEATHS = 3


@dataclass(frozen=True)
class Marked:
    """A job with the file that exists while it runs, which tells a dead worker's job from those still waiting.

    The file holds what the job last told, as JSON.
    """

    job: Job
    driver: int

    @property
    def marker(self) -> Path:
        return marker_of(self.job)


def marker_of(job: Job) -> Path:
    """The file that exists while the job runs."""
    return job.journals[0].with_suffix(".running")


def told(job: Job) -> Told:
    """What a running job last told; nothing done by one that does not run or has not told yet."""
    try:
        return Told(*json.loads(marker_of(job).read_text()))
    except (OSError, ValueError):  # not there, or half written
        return Told(0.0)


def run_jobs(jobs: Sequence[Job], workers: int) -> Iterator[Outcome]:
    """Run every job, on `workers` processes, and yield outcomes as they come.

    When a worker dies (killed, out of memory) the cells that were running are each tried once more, alone; one that
    dies again is yielded as failed. Everything else goes on. Closing the iterator stops the workers. Where workers die
    again and again before they reach a job, joblib's TerminatedWorkerError is raised.
    """
    silent_deaths = 0
    waiting = {job: Marked(job, os.getpid()) for job in jobs}
    for marked in waiting.values():
        marked.marker.unlink(missing_ok=True)
    try:
        while waiting:
            try:
                for job, outcomes in _on_processes(list(waiting.values()), workers):
                    del waiting[job]
                    yield from outcomes
            except TerminatedWorkerError:
                suspects = [marked for marked in waiting.values() if marked.marker.exists()]
                silent_deaths = 0 if suspects else silent_deaths + 1
                if silent_deaths == MAX_SILENT_DEATHS:
                    raise
                for marked in suspects:
                    del waiting[marked.job]
                    marked.marker.unlink(missing_ok=True)
                    for alone in marked.job.alone():
                        yield _second_try(replace(marked, job=alone))
    finally:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _on_processes(jobs: Sequence[Marked], workers: int) -> Iterator[tuple[Job, list[Outcome]]]:
    # loky replaces a worker that has grown by 300 MB, which compiling alone can do, and calls it a possible leak.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given", category=UserWarning)
    # batch_size 1: loky would otherwise glue short jobs together, and a death would take them all.
    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        yield from pool(delayed(_run_marked)(marked) for marked in jobs)


def _second_try(marked: Marked) -> Outcome:
    """The outcome of a job of one cell, on a process of its own."""
    try:
        # With a single worker joblib would run the cell in this very process, which must not die with it.
        _, (outcome,) = next(_on_processes([marked], workers=2))
        return outcome
    except TerminatedWorkerError as death:
        marked.marker.unlink(missing_ok=True)
        (cell,) = marked.job.cells
        return Outcome(cell, failed_row(cell, marked.job.device, f"the worker process died twice: {death}"))


def _run_marked(marked: Marked) -> tuple[Job, list[Outcome]]:
    if os.getpid() != marked.driver:
        # Ctrl-C reaches the whole process group; the driver alone decides what it means.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    marked.marker.parent.mkdir(parents=True, exist_ok=True)
    marked.marker.touch()
    try:
        return marked.job, run(marked.job, tell=lambda one: marked.marker.write_text(json.dumps(one)))
    finally:
        marked.marker.unlink(missing_ok=True)
