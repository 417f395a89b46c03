"""Time of a training update of one network, alone and in a stack of networks: `python -m benchmarks.speed`.

The fits are UCI-sized by default: 6 features, 50 ReLU units (401 weights), minibatches of 10 out of 277 synthetic rows.
Other networks, minibatches and noise are given by --hidden, --batch-size and --likelihood; a minibatch of more than 277
rows is all rows of a data set of that size. A model-step is one update of one network, noise and minibatches included;
each member of an ensemble counts as a network. "alone" runs the same method code without vmap, one network at a time.
With one thread on the CPU, times are computing times of the process, which other processes affect less than elapsed
time.

With `--against`, the command times loops of the same updates in JAX, in PyTorch or in the library posteriors instead
(`benchmarks.against`), in turns with the stacks: ours, theirs, theirs, ours.

With `--arithmetic`, it prints how many operations an update makes, how many bytes its loops read and write, and which
share of a core's speed the stacks reach (`benchmarks.arithmetic`).

With `--scaling OUT.svg`, it draws how time grows with updates, training rows and earlier cells (`benchmarks.scaling`).

With `--network`, the command times a large network instead and compares it with plain SGD
(`benchmarks.large_networks`). Large networks are never stacked.
"""

import os
import statistics
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer
from rich.console import Console
from rich.table import Table

from lockstep_bench.shared.door import Door
from benchmarks.against import METHODS, compare
from benchmarks.arithmetic import measure
from benchmarks.tables import COLUMNS, Measured, print_csv, print_table, progress
from lockstep_bench import methods
from lockstep_bench.shared.protocol import NETWORKS

if TYPE_CHECKING:  # `--help` imports no torch
    from lockstep_bench.bench.engine.stacked_training import Execution
    from lockstep_bench.bench.engine.timing import TimedFit
    from lockstep_bench.methods.base import Method


REPEATS = 3
STACKS = "5,30,150,600"
LARGE_BATCH = 128

app = Door()


@app.command()
def speed(
    names: Annotated[
        str, typer.Option("--methods", help="Names, comma-separated; all by default, with --network one of each idea.")
    ] = "",
    stacks: Annotated[str, typer.Option("--stack", help="Replicas in lockstep, comma-separated.")] = STACKS,
    output: Annotated[Literal["table", "csv"], typer.Option("--format", help="How to print.")] = "table",
    execution: Annotated[
        str, typer.Option(help="How stacks are trained: native, captured or eager; as in a run by default.")
    ] = "",
    against: Annotated[
        str, typer.Option(help="Compare stacks with loops in another library, interleaved: jax, torch or posteriors.")
    ] = "",
    arithmetic: Annotated[
        bool, typer.Option("--arithmetic", help="Count operations and bytes of an update, and show the share of peak.")
    ] = False,
    scaling: Annotated[
        Path | None,
        typer.Option(help="Draw instead how time grows with updates, rows and earlier cells, for example to OUT.svg."),
    ] = None,
    threads: Annotated[int, typer.Option(help="CPU threads; a worker of the benchmark has one.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
    network: Annotated[
        str, typer.Option(help="Measure a large network relative to plain SGD instead: " + ", ".join(NETWORKS))
    ] = "",
    hidden: Annotated[str, typer.Option(help="Networks of the stacks, for example 50,200,50-50.")] = "50",
    batch_size: Annotated[
        str, typer.Option(help=f"Minibatch sizes, comma-separated: 10 by default, with --network one, {LARGE_BATCH}.")
    ] = "",
    likelihood: Annotated[
        Literal["gaussian", "heteroscedastic"], typer.Option(help="Constant or predicted noise, of stacks.")
    ] = "gaussian",
) -> None:
    """Measure microseconds per update of one network, alone and stacked; with --network, the cost relative to SGD."""
    _check(network, stacks, execution, against, device, threads, arithmetic)
    if scaling:
        others = names or network or against or execution or arithmetic
        _check_drawing(scaling, bool(others) or (stacks, device, threads) != (STACKS, "cpu", 1))
    chosen = _chosen(names, network, against)
    sizes = _numbers("--stack", stacks)
    batches = _numbers("--batch-size", batch_size or str(LARGE_BATCH if network else 10))
    layers = [tuple(_numbers("--hidden", units, "-")) for units in hidden.split(",")]
    if network and (len(batches) > 1 or (hidden, likelihood) != ("50", "gaussian")):
        raise typer.BadParameter("--network takes one --batch-size; leave out --hidden and --likelihood")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # silences the profiler; read when torch is imported

    from lockstep_bench.bench.environment import process

    process.settle(threads)
    if scaling:
        return _scaling(scaling)
    if network:
        return _relative_to_sgd(chosen, network, batches[0], device, threads, output)
    fits = [_fit(units, batch, likelihood) for units in layers for batch in batches]
    if against or arithmetic:
        process.pin(threads)
    if against:
        return compare(against, chosen, fits, sizes, output)
    if arithmetic:
        return measure(chosen, fits, sizes, output)
    return _stacked(chosen, fits, sizes, _execution(execution), device, threads, output)


def _chosen(names: str, network: str, against: str) -> "list[Method]":
    """Return the methods that are named, or those that are measured by default."""
    defaults = _headline() if network else list(METHODS[against]) if against else _stackable()
    wanted = [name.strip() for name in names.split(",") if name.strip()] or defaults
    if against and not set(wanted) <= set(METHODS[against]):
        has = ", ".join(METHODS[against])
        raise typer.BadParameter(f"--against {against} has loops of {has}; leave out other methods")
    try:
        return [methods.get(name) for name in wanted]
    except (LookupError, ImportError) as error:
        raise typer.BadParameter(str(error)) from None


def _numbers(option: str, text: str, between: str = ",") -> list[int]:
    """Return the numbers of an option's value, which must be at least 1."""
    try:
        numbers = [int(part) for part in text.split(between)]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise typer.BadParameter(f"{option} {text}: give whole numbers of at least 1")
    return numbers


def _fit(hidden: tuple[int, ...], batch_size: int, likelihood: str) -> "TimedFit":
    from lockstep_bench.bench.engine.timing import TimedFit

    rows = max(TimedFit().n_rows, batch_size)
    return TimedFit(hidden, batch_size, rows, likelihood == "heteroscedastic")


def _check(
    network: str, stacks: str, execution: str, against: str, device: str, threads: int, arithmetic: bool
) -> None:
    """Raise BadParameter if options do not go together."""
    if network and network not in NETWORKS:
        raise typer.BadParameter(f"--network {network} is unknown; it must be one of {', '.join(NETWORKS)}")
    if network and (stacks != STACKS or execution or against or arithmetic):
        raise typer.BadParameter(
            "--network trains one network at a time; leave out --stack, --execution, --against and --arithmetic, or "
            "--network"
        )
    if against and against not in METHODS:
        raise typer.BadParameter(f"--against {against} is unknown; it must be one of {', '.join(METHODS)}")
    if against and arithmetic:
        raise typer.BadParameter("--against and --arithmetic measure different things; leave out one of them")
    if (against or arithmetic) and (device != "cpu" or threads != 1 or execution):
        raise typer.BadParameter(
            f"--{'against' if against else 'arithmetic'} times native loops of one thread; leave out --device, "
            "--threads and --execution"
        )


def _check_drawing(path: Path, has_others: bool) -> None:
    """Raise BadParameter if the drawing cannot be written, or if there are other options beside --scaling."""
    if has_others:
        raise typer.BadParameter("--scaling measures its own fits and cells on one thread; leave out the other options")
    if path.suffix not in (".svg", ".png", ".pdf") or not path.parent.is_dir():
        raise typer.BadParameter(f"--scaling {path}: give an .svg, .png or .pdf file in a folder that exists")


def _execution(name: str) -> "Execution | None":
    """Return the way to train stacks that an option names; None for the default."""
    from lockstep_bench.bench.engine.stacked_training import Execution

    ways: dict[str, Execution] = {way: way for way in get_args(Execution)}
    if name and name not in ways:
        raise typer.BadParameter(f"--execution {name} is unknown; it must be one of {', '.join(ways)}")
    return ways.get(name)


def _stacked(
    chosen: "Sequence[Method]",
    fits: "Sequence[TimedFit]",
    sizes: Sequence[int],
    execution: "Execution | None",
    device: str,
    threads: int,
    output: str,
) -> None:
    """Time methods alone and in stacks, and print the rows."""
    from lockstep_bench.bench.engine.timing import microseconds

    with progress() as bar:
        task = bar.add_task("measuring", total=len(chosen) * len(fits) * REPEATS * (len(sizes) + 1))

        def measured(
            method: "Method", n_replicas: int, fit: "TimedFit", execution: "Execution | None", stacked: bool = True
        ) -> float:
            time_per_step = microseconds(method, n_replicas, execution, device, stacked, fit=fit)
            bar.advance(task)
            return time_per_step

        rows = [
            row for method, fit in product(chosen, fits) for row in _measure(method, fit, sizes, execution, measured)
        ]
    way = execution or "default"
    if output == "csv":
        print_csv(
            [*COLUMNS, "alone_us", "stacked_us", "ratio", "execution"],
            [(*row.cells(), f"{row.first:.2f}", f"{row.second:.2f}", f"{row.ratio:.2f}", way) for row in rows],
        )
    else:
        title = f"Microseconds per model-step ({device}, {threads} thread(s), {way}); in brackets alone / stacked"
        print_table(title, sizes, rows, lambda row: f"{row.second:.1f} ({row.ratio:.0f} x)", alone=True)


def _relative_to_sgd(
    chosen: "Sequence[Method]", network: str, batch_size: int, device: str, threads: int, output: str
) -> None:
    """Measure what methods cost on a large network relative to plain SGD, and print the rows."""
    import torch

    from benchmarks.large_networks import Size
    from benchmarks.published_costs import published

    scale = Size(network, batch_size, torch.device(device))
    suited = [method.suited_to(scale.task) for method in chosen]
    reasons = {method.name: method.excludes(scale.task) for method in suited}
    usable = [method for method in suited if reasons[method.name] is None]
    with progress() as bar:
        costs = [scale.sgd, *(scale.cost(method) for method in bar.track(usable, description="measuring"))]
    reported = [", ".join(f"{paper.ratio} x {paper.beside}" for paper in published(cost.method)) for cost in costs]
    headings = ["method", "ratio", "published", "state", "optimiser", "update"]
    rows = [
        (cost.method, f"{cost.ratio:.2f}", paper, f"{cost.state:.1f}", f"{cost.optimiser:.1f}", f"{cost.update:.1f}")
        for cost, paper in zip(costs, reported, strict=True)
    ]
    if output == "csv":
        print_csv(headings, rows)
    else:
        unit = f"plain SGD's {1e3 * scale.sgd_seconds:.1f} ms per minibatch of {batch_size}"
        table = Table(
            title=f"{network}, {scale.task.network.dim:,} weights ({device}, {threads} thread(s))",
            caption=f"ratio: time per minibatch relative to {unit}; the rest: memory in multiples of the weights, the "
            "state without the optimiser's averages, those averages, and the peak of an update on top of both",
        )
        for heading in headings:
            table.add_column(heading, justify="left" if heading in ("method", "published") else "right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    for name, reason in reasons.items():
        if reason:
            print(f"{name} is left out: {reason}", file=sys.stderr)


def _scaling(path: Path) -> None:
    """Measure how time grows, draw it to a file, and print the lines through the measured times."""
    from benchmarks import scaling

    with progress() as bar:
        task = bar.add_task("measuring", total=scaling.n_measurements())
        measured = scaling.measure(lambda: bar.advance(task))
    scaling.draw(measured, path)
    table = Table(title="Seconds by what is varied (computing time, 1 thread), and a straight line through them")
    for heading in ("varied", "seconds", "slope per 1000", "at 0", "R^2"):
        table.add_column(heading, justify="left" if heading == "varied" else "right")
    for name, line in measured._asdict().items():
        seconds = ", ".join(f"{seconds:.3g}" for seconds in line.seconds)
        cells = seconds, f"{1000 * line.slope:.3g}", f"{line.intercept:.3g}", f"{line.r_squared:.4f}"
        table.add_row(f"{name} {', '.join(map(str, line.counts))}", *cells)
    Console().print(table)


def _measure(
    method: "Method",
    fit: "TimedFit",
    sizes: Sequence[int],
    execution: "Execution | None",
    measured: Callable[..., float],
) -> list[Measured]:
    """Return the measured times for each size of a stack: medians of interleaved repeats."""
    alone: list[float] = []
    stacked: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(REPEATS):
        alone.append(measured(method, 1, fit, "eager", stacked=False))
        for size in sizes:
            stacked[size].append(measured(method, size, fit, execution))
    by_itself = statistics.median(alone)
    return [Measured(method.name, fit, size, by_itself, statistics.median(stacked[size])) for size in sizes]


def _headline() -> list[str]:
    """Return the names of one method of each idea that is trained."""
    return [name for name in methods.headline() if methods.is_ranked(name)]


def _stackable() -> list[str]:
    """Return the names of all trained methods that can be stacked."""
    return [name for name in methods.names() if methods.is_ranked(name) and methods.get(name).stackable]


if __name__ == "__main__":
    app()
