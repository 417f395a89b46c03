"""Printed reports of a run: the plan, the time estimate of a dry run, and the final tables with the exit code."""

from collections.abc import Sequence

from lockstep_bench import leaderboards
from lockstep_bench.bench.console import display, forecast
from lockstep_bench.bench.console.endings import INTERRUPTED, INVALID, NOT_OK
from lockstep_bench.bench.console.outcome import show_outcome
from lockstep_bench.bench.costs.workload import Workload
from lockstep_bench.bench.execution import longer_training
from lockstep_bench.leaderboards.data.longer import LongerTraining, longer_trainings
from lockstep_bench.leaderboards.stats.remarks import SIGNS
from lockstep_bench.run.plan import RunPlan
from lockstep_bench.run.work import Work
from lockstep_bench.shared.rows.reader import read_longer


def show_plan(plan: RunPlan, load: Workload) -> None:
    """Print the plan: problems of the results folder, notes, and the cells that are about to run."""
    resolved, results = plan.resolved, plan.results
    if not (plan.request.dry_run or plan.request.fresh):
        display.show_invalid(plan.renamed)
        display.show_passed_over(results.passed_over)
    display.show_notes(plan.notes)
    display.show_plan(resolved.cells, plan.todo, load.workers)
    display.show_excluded(resolved.without)
    display.show_given(resolved.given)


def show_forecast(plan: RunPlan, load: Workload) -> None:
    """Print the estimated time of the plan, and the cells that `--longer` would train again."""
    forecast.show(display.out, load)
    if factor := plan.request.longer:
        display.show_longer(longer_training.planned(plan.results, plan.resolved.cells, factor), factor)


def report(plan: RunPlan, work: Work) -> int:
    """Build the result pages, print the final tables, and return the exit code."""
    request, resolved, results = plan.request, plan.resolved, plan.results
    if request.longer:
        display.show_gains(_gains(plan, request.longer), work.not_longer)
    page, rows = leaderboards.build_and_export(request.out, request.html)
    show_outcome(rows, resolved.cells, results, resolved.missing, page, SIGNS)
    if work.interrupted:
        return INTERRUPTED
    if asked_for := sorted({each.dataset for each in resolved.missing} & set(request.names)):
        display.show_error(f"{', '.join(asked_for)}: asked for, but not available; see the remedies above")
        return INVALID
    statuses = results.statuses(resolved.cells)
    every = len(statuses) == len(set(resolved.cells)) and all(status == "ok" for status in statuses.values())
    return 0 if every and work.reproduced and not work.not_longer else NOT_OK


def _gains(plan: RunPlan, factor: int) -> Sequence[LongerTraining]:
    """Return the results of longer training in the results folder that belong to the plan's cells."""
    keys = {cell.key for cell in longer_training.sampled(plan.results, plan.resolved.cells)}
    every = longer_trainings(read_longer(plan.results.out).table.to_pandas())
    return [pair for pair in every if pair.key in keys and pair.factor == factor]
