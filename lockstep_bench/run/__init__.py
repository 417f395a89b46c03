"""The command `python run_all.py`: reads the options, plans the run, runs it, and reports the results.

Modules for training and figures are imported only after the options have been checked, so that `--help` and error
messages appear at once.
"""

import gc
from contextlib import nullcontext

import typer

from lockstep_bench.shared.door import Door, examples
from lockstep_bench.bench.console import display, lists
from lockstep_bench.bench.console.endings import stops
from lockstep_bench.bench.execution.spare_process import Spare
from lockstep_bench.bench.execution.workers import workers_on
from lockstep_bench.bench.experiment.answers import answered_by
from lockstep_bench.bench.experiment.available import check_data_folder
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.experiment.resolved import Resolved, resolve
from lockstep_bench.run.grouped import grouped
from lockstep_bench.run.options import Options
from lockstep_bench.run.request import RunRequest, request_of

MANY_OBJECTS = 50_000  # between searches for cycles; a plan has a cell for each result, and no cycles

app = Door(context_settings={"help_option_names": ["-h", "--help"]})


@app.command(
    epilog=examples(
        "python run_all.py --suite uci --datasets yacht,boston --methods vifa,swag",
        "python run_all.py --suite uci --preset tuned --dry-run",
        "python run_all.py --csv houses.csv --target price",
        "python run_all.py --list uci",
    )
)
@grouped(Options)
def main(options: Options) -> None:
    """Compare approximate-inference methods for neural networks, and build a leaderboard."""
    with stops(options.where.out):
        if options.ways.list_:
            check_data_folder(options.where.data_dir)
            lists.show(options.ways.listed, options.where.data_dir)
            return
        if options.ways.listed:
            raise InvalidRequest(f"'{options.ways.listed}' follows no option; write --suite {options.ways.listed}")
        display.show_start()
        request = request_of(options)
        with Spare() as spare, answered_by(spare.answer):
            _prepare(request, spare)
            code = run(request, resolved_of(request), spare)
    if code:
        raise typer.Exit(code)


def _prepare(request: RunRequest, spare: Spare) -> None:
    """Print how a user's own table is read, and start the first worker process in advance, which imports torch."""
    if request.table:
        display.show_table(*request.table)
    gc.set_threshold(MANY_OBJECTS, 20, 100)
    if not (request.dry_run or request.cluster) and request.devices == ("cpu",):
        spare.start(workers_on(request.devices, 1)[0].environment)


def resolved_of(request: RunRequest) -> Resolved:
    """Return the cells of a request, and print what is left out. Except in a dry run, missing data are downloaded.

    Raises:
        InvalidRequest: The request cannot be met, or a data set is missing and `--strict` was given.
    """
    resolved = resolve(request.requests, request.data_dir, fetch=not request.dry_run)
    display.show_missing(resolved.missing)
    display.show_broken(resolved.broken)
    if resolved.missing and request.strict:
        raise InvalidRequest(f"--strict: {len(resolved.missing)} data set(s) are not available; see the remedies above")
    return resolved


def run(request: RunRequest, resolved: Resolved, spare: Spare) -> int:
    """Plan and run a request, report the results, and return the exit code. A dry run ends after the plan.

    Args:
        request: The request.
        resolved: The cells of the request.
        spare: Holder of a worker process that may have been started in advance.
    """
    from lockstep_bench.bench.execution.scheduler import LocalBackend
    from lockstep_bench.bench.results.folder import Results
    from lockstep_bench.bench.results.lock import locked
    from lockstep_bench.run.budgets import with_budgets
    from lockstep_bench.run.plan import backend_and_workload, plan_of
    from lockstep_bench.run.report import report, show_forecast, show_plan
    from lockstep_bench.run.work import run_further, run_left

    results = Results(request.out)
    results.require_plain()
    with nullcontext() if request.dry_run else locked(request.out):
        plan = plan_of(request, with_budgets(request, resolved, results), results)
        if not plan.todo:
            spare.end()
        with backend_and_workload(plan) as (backend, load):
            show_plan(plan, load)
            if request.dry_run:
                show_forecast(plan, load)
                return 0
            work = run_left(plan, backend or LocalBackend(load.workers, spare), load)
        return report(plan, run_further(plan, work))
