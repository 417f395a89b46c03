"""Time of an update, alone and in a stack: `python -m benchmarks.speed` measures every method in one run.

The fits are UCI-sized: 6 features, 50 ReLU units (401 weights), minibatches of 10 out of 277 synthetic rows. A
model-step is one update of one network, noise and minibatches included; an ensemble's members count one each. "alone"
runs the same method code without vmap, one network at a time. With one thread on the CPU, times are computing times of
the process, which other processes change less than time on the wall.

With `--against jax`, the command times JAX's loops of the same updates instead (`benchmarks.jax_loops`), in turns with
the stacks: ours, JAX's, JAX's, ours.

With `--scaling OUT.svg`, it draws how time grows with updates, training rows and earlier cells (`benchmarks.scaling`).

With `--network`, the command times a large network instead and compares it with plain SGD
(`benchmarks.large_networks`). Large networks are never stacked.
"""

import csv
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from lockstep_bench.shared.door import Door
from lockstep_bench import methods
from lockstep_bench.shared.protocol import NETWORKS

if TYPE_CHECKING:  # `--help` imports no torch
    from lockstep_bench.bench.engine.stacked_training import Execution
    from lockstep_bench.methods.base import Method

# Method, stack, and microseconds per model-step: alone and in the stack, or in the stack and in JAX.
Measured = tuple[str, int, float, float]

REPEATS = 3
ROUNDS = 2  # of comparisons, of two measurements each way
STACKS = "5,30,150,600"
LARGE_BATCH = 128
IN_JAX = ("map", "mfvi", "vifa", "swag")

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
        str, typer.Option(help="Compare stacks with the loops of another library, interleaved: jax.")
    ] = "",
    scaling: Annotated[
        Path | None,
        typer.Option(help="Draw instead how time grows with updates, rows and earlier cells, for example to OUT.svg."),
    ] = None,
    threads: Annotated[int, typer.Option(help="CPU threads; a worker of the benchmark has one.", min=1)] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
    network: Annotated[
        str, typer.Option(help="Measure a large network relative to plain SGD instead: " + ", ".join(NETWORKS))
    ] = "",
    batch_size: Annotated[
        int | None, typer.Option(help=f"Minibatch size for --network; {LARGE_BATCH} by default.", min=2)
    ] = None,
) -> None:
    """Measure microseconds per model-step, alone and stacked; with --network, the cost relative to plain SGD."""
    _check(network, batch_size, stacks, execution, against, device, threads)
    if scaling and (names or network or against or execution or (stacks, device, threads) != (STACKS, "cpu", 1)):
        raise typer.BadParameter("--scaling has fits, cells and a thread of its own; leave out the other options")
    if scaling and (scaling.suffix not in (".svg", ".png", ".pdf") or not scaling.parent.is_dir()):
        raise typer.BadParameter(f"--scaling {scaling}: give an .svg, .png or .pdf file in a folder that exists")
    defaults = _headline() if network else list(IN_JAX) if against else _stackable()
    wanted = [name.strip() for name in names.split(",") if name.strip()] or defaults
    if against and not set(wanted) <= set(IN_JAX):
        raise typer.BadParameter(f"--against jax has loops of {', '.join(IN_JAX)}; leave out other methods")
    try:
        sizes = [int(size) for size in stacks.split(",")]
        chosen = [methods.get(name) for name in wanted]
    except (ValueError, LookupError, ImportError) as error:
        raise typer.BadParameter(str(error)) from None
    if min(sizes) < 1:
        raise typer.BadParameter(f"--stack {stacks}: sizes must be at least 1")
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # silences the profiler; read when torch is imported

    from lockstep_bench.bench.environment import process

    process.settle(threads)
    if scaling:
        _scaling(scaling)
    elif network:
        _relative_to_sgd(chosen, network, batch_size or LARGE_BATCH, device, threads, output)
    elif against:
        process.pin(threads)
        _against_jax(chosen, sizes, _execution(execution), output)
    else:
        _stacked(chosen, sizes, _execution(execution), device, threads, output)


def _check(
    network: str, batch_size: int | None, stacks: str, execution: str, against: str, device: str, threads: int
) -> None:
    """Raise BadParameter if options do not go together."""
    if network and network not in NETWORKS:
        raise typer.BadParameter(f"--network {network} is unknown; it must be one of {', '.join(NETWORKS)}")
    if network and (stacks != STACKS or execution or against):
        raise typer.BadParameter(
            "--network trains one network at a time; leave out --stack, --execution and --against, or --network"
        )
    if batch_size and not network:
        raise typer.BadParameter(
            "--batch-size needs --network, as stacks have minibatches of 10; add --network or leave out --batch-size"
        )
    if against not in ("", "jax"):
        raise typer.BadParameter(f"--against {against} is unknown; it must be jax")
    if against and (device != "cpu" or threads != 1):
        raise typer.BadParameter("--against jax compares one thread of the CPU; leave out --device and --threads")


def _execution(name: str) -> "Execution | None":
    """Return the way to train stacks that an option names; None for the default."""
    from lockstep_bench.bench.engine.stacked_training import Execution

    ways: dict[str, Execution] = {way: way for way in get_args(Execution)}
    if name and name not in ways:
        raise typer.BadParameter(f"--execution {name} is unknown; it must be one of {', '.join(ways)}")
    return ways.get(name)


def _stacked(
    chosen: "Sequence[Method]",
    sizes: Sequence[int],
    execution: "Execution | None",
    device: str,
    threads: int,
    output: str,
) -> None:
    """Time methods alone and in stacks, and print the rows."""
    from lockstep_bench.bench.engine.timing import microseconds

    with _progress() as progress:
        bar = progress.add_task("measuring", total=len(chosen) * REPEATS * (len(sizes) + 1))

        def measured(method: "Method", n_replicas: int, execution: "Execution | None", stacked: bool = True) -> float:
            time_per_step = microseconds(method, n_replicas, execution, device, stacked)
            progress.advance(bar)
            return time_per_step

        rows = [row for method in chosen for row in _measure(method, sizes, execution, measured)]
    way = execution or "default"
    if output == "csv":
        _print_csv(
            ["method", "stack", "alone_us", "stacked_us", "ratio", "execution"],
            [(name, size, f"{alone:.2f}", f"{us:.2f}", f"{alone / us:.2f}", way) for name, size, alone, us in rows],
        )
    else:
        title = f"Microseconds per model-step ({device}, {threads} thread(s), {way}); in brackets alone / stacked"
        _print_table(
            title,
            ["method", "alone", *(f"stack of {size}" for size in sizes)],
            {name: [f"{alone:.0f}"] for name, _, alone, _ in rows},
            [(name, f"{us:.1f} ({alone / us:.0f} x)") for name, _, alone, us in rows],
        )


def _against_jax(chosen: "Sequence[Method]", sizes: Sequence[int], execution: "Execution | None", output: str) -> None:
    """Time stacks and JAX's loops of the same updates in turns, and print the rows."""
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen=false {flags}".strip()  # read when JAX is imported
    try:
        from benchmarks.jax_loops import timed_loop
    except ModuleNotFoundError as missing:
        if missing.name not in ("jax", "jaxlib"):
            raise
        raise typer.BadParameter(
            "--against jax needs JAX, which is not installed; run `pip install 'lockstep-bench[reference]'`, or "
            "`pip install -e '.[reference]'` in a checkout"
        ) from missing
    from lockstep_bench.bench.engine.timing import microseconds

    rows: list[Measured] = []
    with _progress() as progress:
        for method, size in progress.track(list(product(chosen, sizes)), description="measuring"):
            of_jax = timed_loop(method.name, size)
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(ROUNDS):
                ours.append(microseconds(method, size, execution))
                theirs += [of_jax(), of_jax()]
                ours.append(microseconds(method, size, execution))
            rows.append((method.name, size, statistics.median(ours), statistics.median(theirs)))
    way = execution or "default"
    if output == "csv":
        _print_csv(
            ["method", "stack", "stacked_us", "jax_us", "ratio", "execution"],
            [(name, size, f"{us:.2f}", f"{jax:.2f}", f"{us / jax:.2f}", way) for name, size, us, jax in rows],
        )
    else:
        _print_table(
            f"Microseconds per model-step (cpu, 1 thread, {way}): ours, JAX's, and in brackets ours / JAX's",
            ["method", *(f"stack of {size}" for size in sizes)],
            {name: [] for name, *_ in rows},
            [(name, f"{us:.1f}, {jax:.1f} ({us / jax:.2f})") for name, _, us, jax in rows],
        )


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
    with _progress() as progress:
        costs = [scale.sgd, *(scale.cost(method) for method in progress.track(usable, description="measuring"))]
    reported = [", ".join(f"{paper.ratio} x {paper.beside}" for paper in published(cost.method)) for cost in costs]
    headings = ["method", "ratio", "published", "state", "optimiser", "update"]
    rows = [
        (cost.method, f"{cost.ratio:.2f}", paper, f"{cost.state:.1f}", f"{cost.optimiser:.1f}", f"{cost.update:.1f}")
        for cost, paper in zip(costs, reported, strict=True)
    ]
    if output == "csv":
        _print_csv(headings, rows)
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

    with _progress() as progress:
        bar = progress.add_task("measuring", total=scaling.n_measurements())
        measured = scaling.measure(lambda: progress.advance(bar))
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
    method: "Method", sizes: Sequence[int], execution: "Execution | None", measured: Callable[..., float]
) -> list[Measured]:
    """Return the measured times for each size of a stack: medians of interleaved repeats."""
    alone: list[float] = []
    stacked: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(REPEATS):
        alone.append(measured(method, 1, "eager", stacked=False))
        for size in sizes:
            stacked[size].append(measured(method, size, execution))
    return [(method.name, size, statistics.median(alone), statistics.median(stacked[size])) for size in sizes]


def _headline() -> list[str]:
    """Return the names of one method of each idea that is trained."""
    return [name for name in methods.headline() if name not in methods.UNRANKED]


def _stackable() -> list[str]:
    """Return the names of all trained methods that can be stacked."""
    return [name for name in methods.names() if name not in methods.UNRANKED and methods.get(name).stackable]


def _progress() -> Progress:
    return Progress(console=Console(stderr=True), transient=True)


def _print_csv(headings: list[str], rows: Iterable[Sequence[object]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)


def _print_table(
    title: str, headings: Sequence[str], first: dict[str, list[str]], cells: Iterable[tuple[str, str]]
) -> None:
    """Print one row per method.

    Args:
        title: of the table.
        headings: of all columns.
        first: cells after the name, by method.
        cells: method and cell of the other columns, in their order.
    """
    rows = {name: list(texts) for name, texts in first.items()}
    for name, text in cells:
        rows[name].append(text)
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for name, texts in rows.items():
        table.add_row(name, *texts)
    Console().print(table)


if __name__ == "__main__":
    app()
