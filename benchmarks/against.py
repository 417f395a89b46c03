"""Times our training and other libraries' loops of the same updates: `python -m benchmarks.speed --against jax`.

Each library has a module with a dictionary `LOOPS`, by name of a method, and a function `timed_loop`.
"""

import os
import statistics
from collections.abc import Sequence
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING

import typer

from benchmarks.tables import COLUMNS, Measured, print_csv, print_table, progress

if TYPE_CHECKING:  # `--help` imports no torch
    from lockstep_bench.bench.engine.timing import TimedFit
    from lockstep_bench.methods.base import Method

ROUNDS = 2  # of comparisons, of two measurements each way
# The methods of which each library has a loop, and what installs the library.
METHODS = {
    "jax": ("map", "mfvi", "vifa", "swag"),
    "torch": ("map", "mfvi"),
    "posteriors": ("map", "mfvi", "sghmc"),
}
INSTALL = {
    "jax": "run `pip install 'lockstep-bench[reference]'`, or `pip install -e '.[reference]'` in a checkout",
    "posteriors": "run `pip install posteriors==0.1.3`",
}


def compare(
    library: str, chosen: "Sequence[Method]", fits: "Sequence[TimedFit]", sizes: Sequence[int], output: str
) -> None:
    """Time our stacks and a library's loops of the same updates alternately, and print the rows.

    Args:
        library: a key of `METHODS`.
        chosen: methods to time, of which the library has loops.
        fits: networks and minibatches.
        sizes: numbers of networks in a stack.
        output: "table" or "csv".

    Raises:
        BadParameter: if the library is not installed.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen=false {flags}".strip()  # read when JAX is imported
    try:
        timed_loop = import_module(f"benchmarks.{library}_loops").timed_loop
    except ModuleNotFoundError as missing:
        if library not in INSTALL or (missing.name or "").startswith("lockstep_bench"):
            raise
        raise typer.BadParameter(f"--against {library} needs {missing.name}; {INSTALL[library]}") from missing
    from lockstep_bench.bench.engine.timing import NativeStack

    rows: list[Measured] = []
    if output == "csv":
        print_csv([*COLUMNS, "stacked_us", f"{library}_us", "ratio"], [])
    with progress() as bar:
        for method, fit, size in bar.track(list(product(chosen, fits, sizes)), description="measuring"):
            of_library, of_ours = timed_loop(method.name, size, fit), NativeStack(method, size, fit).microseconds
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(ROUNDS):
                ours.append(of_ours())
                theirs += [of_library(), of_library()]
                ours.append(of_ours())
            row = Measured(method.name, fit, size, statistics.median(ours), statistics.median(theirs))
            rows.append(row)
            if output == "csv":  # at once, so that a run that is cut off loses nothing
                print_csv([], [(*row.cells(), f"{row.first:.2f}", f"{row.second:.2f}", f"{row.ratio:.2f}")])
    if output != "csv":
        title = f"Microseconds per model-step (cpu, 1 thread): ours, in {library}, and in brackets their ratio"
        print_table(title, sizes, rows, lambda row: f"{row.first:.1f}, {row.second:.1f} ({row.ratio:.2f})")
        worst = max(rows, key=lambda row: row.ratio)
        cell = ", ".join(f"{name} {value}" for name, value in zip(COLUMNS, worst.cells(), strict=True))
        print(f"The largest ratio is {worst.ratio:.2f} ({cell}).")
