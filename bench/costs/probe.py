"""Probe: measures the cost of a cell by running it, with few updates in each fit and with more.

The duration of the whole cell is extrapolated by a straight line in the number of updates, or for a stream in the
number of vectors. All runs do the same tuning, predictions and diagnostics as the cell itself. Cells that train
together share much of a job's time. Therefore a job of several cells is run too, with the same numbers of updates.
"""

import time
from dataclasses import replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil
import torch

from lockstep_bench import methods
from lockstep_bench.bench.costs.batching import ASSUMED, MIB, rows_of
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.costs.line import Line
from lockstep_bench.bench.engine.native_training import MIN_UPDATES
from lockstep_bench.bench.environment.clock import now
from lockstep_bench.bench.environment.memory import peak_mib, reset_peak
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job
from lockstep_bench.bench.experiment.progress import OnProgress
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.bench.results.record import Outcome
from lockstep_bench.methods.base import FullBatchMethod, Plan
from lockstep_bench.shared.protocol import STREAMS

STACKED, ALONE = (MIN_UPDATES, 10 * MIN_UPDATES), (4, 12)  # updates of two runs; of fits that train one by one
VECTORS = (1000, 4000)  # of the two streams
TIMES_AS_LONG = 2  # the longer run over the shorter one, at least: otherwise the slope of the line is mostly noise
TOGETHER = 3  # cells of a job that is run too; jobs on a CPU have up to five


def probe(cell: Cell, data_dir: Path | None, device: str, *, on_progress: OnProgress = lambda progress: None) -> Cost:
    """Measure the cost of a cell in this process, on the torch device `device`."""
    where, rows = torch.device(device), rows_of(cell)
    is_stream = SUITES[cell.suite].kind.data == STREAMS
    few, more = VECTORS if is_stream else STACKED if rows else ALONE
    _run(cell, few, data_dir, where)  # imports, compiles
    base = torch.cuda.memory_allocated(where) if where.type == "cuda" else psutil.Process().memory_info().rss
    reset_peak(where)
    short, outcome = _run(cell, few, data_dir, where)
    long, _ = _run(cell, more, data_dir, where)
    while long < TIMES_AS_LONG * short and _length(cell, 4 * more, outcome) > _length(cell, more, outcome):
        more *= 4
        long, _ = _run(cell, more, data_dir, where)
    row_bytes = ceil((peak_mib(where) * MIB - base) / max(1, rows))
    if where.type == "cpu":  # a process keeps what the first run has freed, which hides a part
        row_bytes = max(row_bytes, ASSUMED.row)
    lengths = [_length(cell, most, outcome) for most in (few, more)]
    whole = _length(cell, None, outcome)
    alone = Line.through(lengths[0], short, lengths[1], long)
    if not rows or cell.protocol.budget_seconds:
        return Cost(cell.work, alone.slope * whole, base, row_bytes, alone.start)
    short, long = (_run(cell, most, data_dir, where, TOGETHER)[0] for most in (few, more))
    together = Line.through(lengths[0], short, lengths[1], long)
    start, job_start = _shares(alone.start, together.start)
    seconds, job = _shares(alone.slope * whole, together.slope * whole)
    return Cost(cell.work, seconds, base, row_bytes, start, job, job_start)


def _shares(alone: float, together: float) -> tuple[float, float]:
    """Split the duration of a cell that runs alone into its own part, and a part that all cells of a job share.

    Args:
        alone: duration of one cell.
        together: duration of `TOGETHER` cells in a job.
    """
    each = min(max(0.0, (together - alone) / (TOGETHER - 1)), alone)
    return each, alone - each


class Parts(NamedTuple):
    """Durations of a cell's tuning and final fit in seconds, and the number of training rows of that fit."""

    tuning: float
    fit: float
    n_train: int


def seconds_of_parts(cell: Cell, trials: int, minibatches: int, data_dir: Path | None, device: str) -> Parts:
    """Run a cell with `trials` trials and `minibatches` minibatches per fit, and return the durations of its parts."""
    protocol = cell.protocol.changed(trials=trials, max_minibatches=minibatches)
    _, outcome = _run(replace(cell, protocol=protocol), None, data_dir, torch.device(device))
    assert outcome.data is not None
    tuning = outcome.tuning.tune_seconds if outcome.tuning else None
    return Parts(tuning or 0.0, outcome.fit.fit_seconds if outcome.fit else 0.0, outcome.data.n_train)


def survey(device: str, *, on_progress: OnProgress = lambda progress: None) -> tuple[str, int]:
    """Return the name of a GPU, and its free memory in bytes while this process already uses the GPU."""
    where = torch.device(device)
    torch.zeros(1, device=where)
    return torch.cuda.get_device_name(where), torch.cuda.mem_get_info(where)[0]


def _run(
    cell: Cell, length: int | None, data_dir: Path | None, device: torch.device, n_cells: int = 1
) -> tuple[float, Outcome]:
    """Run a job with `length` updates per fit, or `length` vectors per stream; return its seconds and first outcome.

    If `length` is None, the cell's protocol decides. The job has the cell, or several that differ in their seeds.
    """
    with TemporaryDirectory() as folder:
        same = _with_length(cell, length)
        cells = tuple(replace(same, seed=same.seed + number) for number in range(n_cells))
        journals = tuple(Path(folder) / f"{number}.json" for number in range(n_cells))
        job = Job(cells, journals, data_dir)
        started = _clock(device)
        *_, (outcome, *_) = SUITES[cell.suite].kind.evaluation(job, device, lambda progress: None).run()
        return _clock(device) - started, outcome


def _with_length(cell: Cell, length: int | None) -> Cell:
    """Return the cell with `length` planned updates, or vectors per stream; the cell itself if `length` is None."""
    if length is None:
        return cell
    is_stream = SUITES[cell.suite].kind.data == STREAMS
    changes = {"stream_length": min(length, cell.protocol.stream_length)} if is_stream else {"max_updates": length}
    return replace(cell, protocol=cell.protocol.changed(**changes))


def _clock(device: torch.device) -> float:
    """Return a clock's time in seconds; on a CPU it is CPU time, which other programs affect little."""
    return now(device) if device.type == "cuda" else time.process_time()


def _length(cell: Cell, most: int | None, outcome: Outcome) -> int:
    """Return the number of updates of a fit, or of vectors of a stream, in a run with `most` of them at most."""
    limited = _with_length(cell, most)
    is_stream = SUITES[cell.suite].kind.data == STREAMS
    return limited.protocol.stream_length if is_stream else _updates(limited, outcome)


def _updates(cell: Cell, outcome: Outcome) -> int:
    """Return the number of updates of a fit on cross-validation folds; 0 for a method without updates."""
    protocol, method = cell.protocol, methods.get(cell.method)
    if isinstance(method, FullBatchMethod):
        return 0
    assert outcome.data is not None
    held_out = 0 if protocol.sampler == "centre" else outcome.data.n_train // protocol.folds
    per_epoch = ceil((outcome.data.n_train - held_out) / protocol.batch_size)
    minibatches = min(protocol.epochs * per_epoch, protocol.max_minibatches or protocol.epochs * per_epoch)
    updates = minibatches // method.batches_per_update
    planned = min(updates, protocol.max_updates or updates)
    return method.updates(Plan(planned, per_epoch / method.batches_per_update))
