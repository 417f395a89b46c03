"""The plan of a run: its cells, those that are not finished yet, and notes that the user should read first."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lockstep_bench.bench.console import display, forecast
from lockstep_bench.bench.console.cluster_run import backend_of
from lockstep_bench.bench.costs.workload import Surroundings, Workload, surroundings, workload, workload_elsewhere
from lockstep_bench.bench.execution.scheduler import Backend
from lockstep_bench.bench.experiment.capped_epochs import notes_on_capped_epochs
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.flagged_splits import notes_on_flagged
from lockstep_bench.bench.experiment.noise_ranges import notes_on_noise_ranges
from lockstep_bench.bench.experiment.resolved import Resolved
from lockstep_bench.bench.results.earlier_rows import notes_on_earlier_rows
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.run.request import RunRequest


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run.

    Attributes:
        request: The user's request.
        resolved: The cells of the request, and what is left out of it.
        results: The results folder.
        todo: The cells that are not finished yet, those with most work first.
        renamed: New paths of invalid files in the folder, which were renamed, with the reasons.
        notes: Notes on earlier results, search ranges of the noise precision, flagged splits, and epochs that the cap
            of minibatches cuts off.
    """

    request: RunRequest
    resolved: Resolved
    results: Results
    todo: tuple[Cell, ...]
    renamed: tuple[tuple[Path, str], ...]
    notes: tuple[str, ...]

    @cached_property
    def surroundings(self) -> Surroundings:
        """The devices of this machine, with their free memory at the first use of this property."""
        return surroundings(self.request.devices)


def plan_of(request: RunRequest, resolved: Resolved, results: Results) -> RunPlan:
    """Return the plan of a request. Except in a dry run, invalid files in the results folder are renamed.

    Raises:
        InvalidRequest: The folder has results of a newer version, or a link or folder is in the place of a result file.
    """
    wanted = resolved.cells
    notes = [*notes_on_noise_ranges(wanted, request.data_dir), *notes_on_flagged(wanted)]
    if any("epochs" in each.changes for each in request.requests):
        notes += notes_on_capped_epochs(wanted, request.data_dir)
    if request.fresh:
        return RunPlan(request, resolved, results, tuple(wanted), (), tuple(notes))
    results.require_readable()
    renamed = () if request.dry_run else tuple(results.mend())
    notes = [*notes_on_earlier_rows(results.rows(), wanted, request.data_dir), *notes]
    todo = tuple(cell for cell in wanted if not results.has(cell))
    results.require_place(todo)
    return RunPlan(request, resolved, results, todo, renamed, tuple(notes))


@contextmanager
def backend_and_workload(plan: RunPlan) -> Iterator[tuple[Backend | None, Workload]]:
    """Yield the backend of a cluster (None to run on this machine), and the jobs with their workers.

    On this machine, a dry run and a run on a GPU first measure the time and memory of methods by short trainings.
    """
    request, todo = plan.request, plan.todo
    with backend_of(request.cluster if todo else None, todo, fetch=not request.dry_run) as backend:
        if backend:
            yield backend, workload_elsewhere(todo, backend.workers)
            return
        measure = None  # a CPU's work begins at once
        if request.dry_run:
            measure = forecast.measuring(display.err, request.data_dir, forecast.PATIENCE_SECONDS)
        elif plan.surroundings.kind == "cuda":
            measure = forecast.measuring(display.err, request.data_dir)
        rows = plan.results.rows()
        yield None, workload(todo, plan.surroundings, rows, each=request.workers, measure=measure)
