"""The option `--budget-seconds`: chooses numbers of trials and minibatches that fit a time budget for each method."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from rich.progress import Progress

from lockstep_bench.bench.console import display
from lockstep_bench.bench.costs.budgets import (
    FEWEST,
    Rates,
    Spending,
    budgeted,
    key_of,
    measured,
    spending,
    spent_before,
    updates_of,
)
from lockstep_bench.bench.costs.workload import surroundings
from lockstep_bench.bench.execution.measuring import measure_each
from lockstep_bench.bench.execution.workers import workers_on
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.bench.experiment.resolved import Resolved
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.run.request import RunRequest
from lockstep_bench.shared.protocol import VECTORS

LIMIT_SECONDS = 600  # of one measurement; a slower method is not tuned, and hardly trained


def with_budgets(request: RunRequest, resolved: Resolved, results: Results) -> Resolved:
    """Return the cells of a request under each of its time budgets, with numbers of trials and minibatches that fit.

    The numbers are taken from earlier results in the folder. Where there are none, the speed of the method is measured,
    except in a dry run. A method that cannot be measured is not tuned and gets the fewest minibatches; a note is
    printed. Without budgets, the cells are returned unchanged.

    Raises:
        InvalidRequest: The suite does not train on tables, or the folder has results of a newer version.
    """
    if not request.budgets:
        return resolved
    for cell in resolved.cells:
        if SUITES[cell.suite].kind.data != VECTORS:
            raise InvalidRequest(f"--budget-seconds is for suites of tables, and {cell.suite} is not one")
    if not request.fresh:
        results.require_readable()  # before minutes of measurements
    before = {} if request.fresh else spent_before(results.rows())
    pairs = [(cell, budget) for budget in request.budgets for cell in resolved.cells]
    unknown = {_pair(cell): cell for cell, budget in pairs if key_of(budgeted(cell, budget)) not in before}
    rates = {} if request.dry_run else _measure(request, list(unknown.values()))
    if not request.dry_run:
        display.show_notes(_not_measured(unknown.keys() - rates.keys()))
    cells = []
    for cell, budget in pairs:
        known = before.get(key_of(budgeted(cell, budget)))
        if known:
            cells.append(replace(budgeted(cell, budget), protocol=known))
        else:
            cells.append(budgeted(cell, budget, _spending(cell, budget, rates) if not request.dry_run else None))
    return replace(resolved, cells=cells)


def _pair(cell: Cell) -> tuple[str, str, str]:
    return cell.suite, cell.dataset, cell.method


def _not_measured(pairs: Collection[tuple[str, str, str]]) -> list[str]:
    return [
        f"{method} on {dataset} could not be measured in {LIMIT_SECONDS} s; with a budget of seconds it is not tuned, "
        f"and trained for {FEWEST.minibatches} minibatches"
        for _, dataset, method in sorted(pairs)
    ]


def _spending(cell: Cell, budget: int, rates: dict[tuple[str, str, str], Rates]) -> Spending:
    speed = rates.get(_pair(cell))
    if speed is None:
        return FEWEST
    updates = partial(updates_of, cell, speed.n_train)
    return spending(budget, speed, cell.protocol, updates)


def _measure(request: RunRequest, cells: Sequence[Cell]) -> dict[tuple[str, str, str], Rates]:
    """Return the measured speeds of methods on data sets; pairs whose measurement fails are missing."""
    found: dict[tuple[str, str, str], Rates] = {}
    if not cells:
        return found
    each = request.workers or (surroundings(request.devices).cores if request.devices == ("cpu",) else 1)
    workers = workers_on(request.devices, each)

    def keep(cell: Cell, rates: Rates) -> None:
        found[_pair(cell)] = rates

    with Progress(console=display.err, transient=True) as progress:
        bar = progress.add_task("measuring how fast methods are", total=len(cells))
        advance = partial(progress.advance, bar)
        measure_each(measured, cells, workers, keep, request.data_dir, limit=LIMIT_SECONDS, on_progress=advance)
    return found
