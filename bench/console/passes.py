"""The passes of a run: training of all cells, then repetitions of some cells for timing or for longer training."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from lockstep_bench.bench.console import display
from lockstep_bench.bench.console.endings import NO_PROCESS
from lockstep_bench.bench.console.runner import CellStore, run
from lockstep_bench.bench.costs.workload import Surroundings, workload
from lockstep_bench.bench.execution import longer_training, timing
from lockstep_bench.bench.execution.pool import NoProcess
from lockstep_bench.bench.execution.scheduler import Backend
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.results.folder import Results


def run_cells(
    store: CellStore,
    jobs: Sequence[Job],
    where: Sequence[Worker] | Backend,
    weights: Mapping[Cell, float],
    timeout: float | None,
    slow_fits: display.SlowFits | None = None,
) -> bool:
    """Run jobs (batches of cells) and store their results; return True if Ctrl-C ended the run."""
    try:
        return run(store, jobs, where, timeout, weights, slow_fits)
    except NoProcess as problem:
        display.show_no_process(problem)
        raise typer.Exit(NO_PROCESS) from None


def time_cells(
    results: Results, wanted: Sequence[Cell], around: Surroundings, data_dir: Path | None, timeout: float | None
) -> tuple[bool, bool]:
    """Repeat cells alone on an idle device to measure their times.

    Returns:
        Whether Ctrl-C ended the pass, and whether every cell gave the same numbers as before.
    """
    cells = timing.due(results, wanted)
    display.show_timing(cells)
    if not cells:
        return False, True
    timings = timing.Timings(results, cells)
    with TemporaryDirectory() as folder:  # for new studies, so that the whole search is timed
        load = workload(cells, around, results.rows(), each=1).warmed_up()
        jobs = load.jobs(lambda cell: Path(folder) / f"{cell.key}.json", data_dir)
        interrupted = run_cells(timings, jobs, load.workers, load.weights, timeout)
    display.show_repeated(timings.differing, timings.failed)
    return interrupted, not timings.differing and not timings.failed


def train_longer(
    results: Results,
    wanted: Sequence[Cell],
    factor: int,
    around: Surroundings,
    workers: int | None,
    data_dir: Path | None,
    timeout: float | None,
) -> tuple[bool, Mapping[Cell, str]]:
    """Train cells again for `factor` times as long.

    Returns:
        Whether Ctrl-C ended the pass, and the status of the cells that could not be trained.
    """
    trainings = longer_training.due(results, wanted, factor)
    display.show_longer([*dict.fromkeys(training.of for training in trainings)], factor)
    store, interrupted = longer_training.LongerTrainings(results, trainings), False
    if trainings:
        cells = list(dict.fromkeys(training.cell for training in trainings))
        with TemporaryDirectory() as folder:
            load = workload(cells, around, results.rows(), each=workers)
            jobs = load.jobs(lambda cell: Path(folder) / f"{cell.key}.json", data_dir, validated=True)
            interrupted = run_cells(store, jobs, load.workers, load.weights, timeout)
    return interrupted, store.failed
