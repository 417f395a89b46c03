"""Measurements of cells (of their cost, for example) in worker processes like those of a run."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from typing import Any

from lockstep_bench.bench.execution.pool import Pool
from lockstep_bench.bench.execution.workers import Worker
from lockstep_bench.bench.experiment.cells import Cell


def measure_each(
    function: Callable[..., Any],
    cells: Iterable[Cell],
    workers: Sequence[Worker],
    keep: Callable[[Cell, Any], None],
    *given: Any,
    limit: float,
    on_progress: Callable[[], None] = lambda: None,
    seconds: float = inf,
) -> None:
    """Measure cells one by one on several workers; nothing is stored for a cell whose measurement fails.

    Args:
        function: function that measures; it is called in a worker process with a cell, `given`, and the torch device.
        cells: the cells.
        workers: the workers, each of which measures one cell at a time. GPUs should do nothing else meanwhile.
        keep: called with a cell and the result of `function`, from several threads.
        given: further arguments of `function`.
        limit: seconds after which a measurement is stopped, and counts as failed.
        on_progress: called after each measurement, from several threads.
        seconds: time after which no further measurement begins.
    """
    waiting, end, pool = deque(cells), time.monotonic() + seconds, Pool()

    def work(worker: Worker) -> None:
        with suppress(IndexError):  # no cell is left
            while time.monotonic() < end:
                cell = waiting.popleft()
                with suppress(Exception):  # the cell's own run reports what is wrong
                    process, _ = pool.process_of(worker)
                    keep(cell, process.call(function, cell, *given, worker.device, limit=limit))
                on_progress()

    with ThreadPoolExecutor(len(workers)) as threads:
        futures = [threads.submit(work, worker) for worker in workers]
        try:
            for future in futures:
                future.result()
        finally:
            pool.end()  # at Ctrl-C too, so that the threads end
