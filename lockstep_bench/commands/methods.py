"""Command line of the methods: `python -m methods list`, `check NAME` and `new NAME`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.shared.door import Door, examples
from lockstep_bench import methods
from lockstep_bench.shared.called import as_called

if TYPE_CHECKING:
    from rich.table import Table

    from lockstep_bench.methods.base import Method

app = Door(
    help="List the methods of approximate inference, check one against the method contract, or start a new one.",
    no_args_is_help=True,
    epilog=examples("python -m methods list", "python -m methods check swag", "python -m methods new my-method"),
)


@app.command("list", epilog=examples("python -m methods list"))
def list_() -> None:
    """List all methods by family, with title, paper, and the tasks they apply to unless these are all."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    families: dict[str, list[str]] = {}
    for name in methods.names():
        families.setdefault(methods.card(name).family_title, []).append(name)
    console.print("Methods by family. Those of `headline`, marked *, run by default.")
    reasons: list[str] = []
    for family, names in families.items():
        console.print(f"\n[bold]{escape(family)}[/]")
        console.print(_family(names, reasons))
    for reason in reasons:
        console.print(f"[red]broken[/] {escape(reason)}", soft_wrap=True)
    console.print("\n`ensemble:NAME` pools five members of a method, for example ensemble:swag.")


def _family(names: list[str], reasons: list[str]) -> "Table":
    """Return a table of the methods of a family; why some cannot be loaded is appended to `reasons`."""
    from rich.markup import escape
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(min_width=max(map(len, methods.names())), no_wrap=True)
    table.add_column()
    for name in names:
        mark = "*" if name in methods.headline() else ""
        try:
            method = methods.get(name)
        except methods.BrokenMethod as error:
            reasons.append(str(error))
            table.add_row(mark, escape(name), "[red]broken[/]; the reason is below")
            continue
        limits = _applicability(method).removeprefix("all tasks").removeprefix("; ")
        said = f"{method.title} ({method.paper.authors})"
        table.add_row(mark, escape(name), escape(f"{said}: {limits}" if limits else said))
    return table


def _applicability(method: "Method") -> str:
    """Return what a method applies to, in words: tasks, or single likelihoods of a task, and its limits."""
    tasks = {"regression": ("gaussian", "heteroscedastic", "student-t"), "classification": ("bernoulli", "categorical")}
    words: list[str] = []
    for task, kinds in tasks.items():
        usable = [kind for kind in kinds if kind in method.likelihoods]
        words += [task] if len(usable) == len(kinds) else usable
    words = ["all tasks"] if words == list(tasks) else words
    return "; ".join(part for part in (", ".join(words), method.limits) if part)


@app.command(epilog=examples("python -m methods check swag mfvi", "python -m methods check --all --jobs 2"))
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of the methods to check.", show_default=False)
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Check every method whose library is installed.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(help="Methods to check at once; as many as cores by default.", min=1, show_default=False),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to train: cpu, cuda or cuda:N.")] = "cpu",
) -> None:
    """Check methods against the method contract; exit with code 1 if a check fails."""
    if bool(names) == all_:
        raise typer.BadParameter("give either the names of the methods to check, or --all")
    from lockstep_bench.bench.experiment.parsing import parse_device
    from lockstep_bench.bench.experiment.request import InvalidRequest

    try:
        absent = {} if names else _not_installed()
        chosen = [name for name in dict.fromkeys(names or methods.names()) if name not in absent]
        failures = _print_findings(chosen, jobs, parse_device(device))
    except (InvalidRequest, methods.UnknownMethod, methods.BrokenMethod) as error:
        raise typer.BadParameter(str(error)) from None
    for name, reason in absent.items():
        typer.echo(f"{name}: not checked, because {reason}")
    if failures:
        raise typer.Exit(1)


def _not_installed() -> dict[str, str]:
    """Return the baselines whose library is not installed, with the reason. By name, the check of one fails."""
    from lockstep_bench.methods.lines import not_installed

    reasons = {name: not_installed(methods.get(name)) for name in methods.names()}
    return {name: reason for name, reason in reasons.items() if reason}


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


@app.command(epilog=examples("python -m methods new my-method", "python -m methods new my-method --into /tmp/my"))
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
    typer.echo(as_called(f"\nNext: pip install -e {folder}\n      python -m methods check {name}"))


if __name__ == "__main__":
    app(prog_name="python -m methods")
