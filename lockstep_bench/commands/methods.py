"""Command line of the methods: `python -m methods list`, `check NAME` and `new NAME`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.shared.door import Door
from lockstep_bench import methods

if TYPE_CHECKING:
    from lockstep_bench.methods.base import Method

app = Door(
    help="List the methods of approximate inference, check one against the method contract, or start a new one.",
    no_args_is_help=True,
)


@app.command("list")
def list_() -> None:
    """List all methods with title, paper and the tasks they apply to."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("name", no_wrap=True)
    table.add_column("title", ratio=1)
    table.add_column("paper", no_wrap=True, ratio=1)
    table.add_column("applies to", max_width=14)
    reasons = []
    for name in methods.names():
        try:
            method = methods.get(name)
        except methods.BrokenMethod as error:
            reasons.append(str(error))
            table.add_row(escape(name), "[red]broken[/]", "the reason is below")
        else:
            paper = f"{method.paper.authors}: {method.paper.title}"
            table.add_row(*map(escape, (name, method.title, paper, _applicability(method))))
    console.print(table)
    for reason in reasons:
        console.print(f"[red]broken[/] {escape(reason)}", soft_wrap=True)
    console.print("\n`ensemble:NAME` pools five members of a method, for example ensemble:swag.")


def _applicability(method: "Method") -> str:
    """Return what a method applies to, in words: tasks, or single likelihoods of a task, and its limits."""
    tasks = {"regression": ("gaussian", "heteroscedastic", "student-t"), "classification": ("bernoulli", "categorical")}
    words: list[str] = []
    for task, kinds in tasks.items():
        usable = [kind for kind in kinds if kind in method.likelihoods]
        words += [task] if len(usable) == len(kinds) else usable
    words = ["all tasks"] if words == list(tasks) else words
    return "; ".join(part for part in (", ".join(words), method.limits) if part)


@app.command()
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of the methods to check.", show_default=False)
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Check every method.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(help="Methods to check at once; as many as cores by default.", min=1, show_default=False),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to train: cpu, cuda or cuda:N.")] = "cpu",
) -> None:
    """Check methods against the method contract; exit with code 1 if a check fails."""
    if bool(names) == all_:
        raise typer.BadParameter("give either the names of the methods to check, or --all")
    from lockstep_bench.bench.experiment.parsing import parse_devices
    from lockstep_bench.bench.experiment.request import InvalidRequest

    try:
        (place,) = parse_devices(device)[:1]
        failures = _print_findings(list(dict.fromkeys(names or methods.names())), jobs, place)
    except (InvalidRequest, methods.UnknownMethod, methods.BrokenMethod) as error:
        raise typer.BadParameter(str(error)) from None
    if failures:
        raise typer.Exit(1)


def _print_findings(names: list[str], jobs: int | None, device: str) -> int:
    """Check methods, print each finding under its method, and return the number of failed checks."""
    import torch
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    # The checks train with the engine.
    from lockstep_bench.bench.conformance.parallel import check_each

    torch.set_num_threads(1)
    console = Console(highlight=False)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    failures, printed = 0, None
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("methods checked", total=len(names))
        for name, finding in check_each(names, jobs, lambda name: progress.advance(bar), device):
            if name != printed:
                console.print(f"[bold]{escape(name)}[/]")
                printed = name
            mark = "[red]FAIL[/]" if not finding.passed else "[yellow]warn[/]" if finding.warned else "[green]ok[/]  "
            console.print(f"  {mark} {finding.check}: {escape(finding.detail)}", soft_wrap=True)
            failures += not finding.passed
    return failures


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the new method, for example my-method.", show_default=False)],
    into: Annotated[
        Path | None, typer.Option(help="Folder to write the package to; by default ./NAME.", show_default=False)
    ] = None,
) -> None:
    """Write an installable package with a small working method and its test, as a starting point."""
    from lockstep_bench.methods.catalogue import scaffold

    folder = into or Path(name)
    try:
        written = scaffold.write(name, folder)
    except scaffold.CannotCreate as error:
        raise typer.BadParameter(str(error)) from None
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"\nNext: pip install -e {folder}\n      python -m methods check {name}")


if __name__ == "__main__":
    app()
