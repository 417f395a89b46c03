"""Execution of a plan: runs its cells, and then repeats some of them for their times or with longer training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Thread

from lockstep_bench import leaderboards
from lockstep_bench.bench.console import display, passes
from lockstep_bench.bench.console.live_page import live_pages
from lockstep_bench.bench.costs.workload import Workload
from lockstep_bench.bench.execution.scheduler import Backend
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.native.libraries import obstacle
from lockstep_bench.run.plan import RunPlan


@dataclass(frozen=True)
class Work:
    """Outcome of the execution of a plan.

    Attributes:
        interrupted: Whether Ctrl-C ended it.
        reproduced: Whether every cell that was repeated for its times gave the same numbers as before.
        not_longer: Status of each cell whose longer training failed.
    """

    interrupted: bool = False
    reproduced: bool = True
    not_longer: Mapping[Cell, str] = field(default_factory=dict)


def run_left(plan: RunPlan, backend: Backend, load: Workload) -> Work:
    """Run the unfinished cells, and update the result pages meanwhile."""
    request, results, wanted = plan.request, plan.results, plan.resolved.cells
    if request.fresh and (aside := results.put_aside()):  # not before a cluster can be had
        display.say(f"Old results moved to {aside}")
    results.note_missing(plan.resolved.missing)
    if request.table:
        results.note_table(request.table[0])
    if not plan.todo:
        return Work()
    slow_fits = display.SlowFits()
    if request.devices == ("cpu",) and not request.cluster and (reason := obstacle()):
        slow_fits.show(reason)
    jobs = load.jobs(results.journal, request.data_dir)
    build = partial(leaderboards.build, request.out, request.html)
    Thread(target=leaderboards.prepare, daemon=True).start()
    finished, weights = len(wanted) - len(plan.todo), load.weights
    with live_pages(results, leaderboards.prepare, build, finished, weights) as store:
        return Work(passes.run_cells(store, jobs, backend, weights, request.timeout, slow_fits))


def run_further(plan: RunPlan, work: Work) -> Work:
    """Repeat cells for their times (`--timing`), and train cells for longer (`--longer`), if requested."""
    request, results, wanted = plan.request, plan.results, plan.resolved.cells
    common = request.data_dir, request.timeout
    if request.timing and not work.interrupted:
        work = Work(*passes.time_cells(results, wanted, plan.surroundings, *common))
    if request.longer and not work.interrupted:
        around = plan.surroundings, request.workers
        interrupted, failed = passes.train_longer(results, wanted, request.longer, *around, *common)
        work = Work(interrupted, work.reproduced, failed)
    return work
