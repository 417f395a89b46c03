"""Arithmetic of an update, and the share of a core's speed that it reaches: `benchmarks.speed --arithmetic`."""

import statistics
import time
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.tables import COLUMNS, Measured, print_csv, progress

if TYPE_CHECKING:  # `--help` imports no torch
    from lockstep_bench.bench.engine.timing import TimedFit
    from lockstep_bench.methods.base import Method

REPEATS = 3
SIZE = 1024  # rows of the matrices whose product is taken as a core's peak
HEADINGS = [*COLUMNS, "operations", "kB", "us", "GFLOP/s", "share"]


def measure(chosen: "Sequence[Method]", fits: "Sequence[TimedFit]", sizes: Sequence[int], output: str) -> None:
    """Count and time updates of stacks, and print the rows.

    The share is that of the operations per second which a product of two matrices of 1,024 rows reaches in torch on
    one thread.

    Args:
        chosen: methods that have native loops.
        fits: networks and minibatches.
        sizes: numbers of networks in a stack.
        output: "table" or "csv".

    Raises:
        RuntimeError: if a method has no native loop.
    """
    from lockstep_bench.bench.engine.timing import NativeStack

    rows, peak = [], peak_speed()
    with progress() as bar:
        for method, fit, size in bar.track(list(product(chosen, fits, sizes)), description="measuring"):
            stack = NativeStack(method, size, fit)
            microseconds = statistics.median(stack.microseconds() for _ in range(REPEATS))
            work = stack.work()
            speed = work.operations / microseconds / 1e3
            numbers = f"{work.operations}", f"{work.moved / 1e3:.1f}", f"{microseconds:.2f}", f"{speed:.1f}"
            rows.append((*Measured(method.name, fit, size, 0, 0).cells(), *numbers, f"{speed / peak:.2f}"))
    if output == "csv":
        print_csv(HEADINGS, rows)
        return
    table = Table(title=f"An update of one network, in stacks; share of {peak:.0f} GFLOP/s (cpu, 1 thread)")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in COLUMNS[:2] else "right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def peak_speed() -> float:
    """Return how many operations torch makes per nanosecond on one thread, in the fastest of ten matrix products."""
    import torch

    matrix = torch.randn(SIZE, SIZE)
    times = []
    for _ in range(10):
        started = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - started)
    return 2 * SIZE**3 / min(times) / 1e9
