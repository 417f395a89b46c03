"""`python -m methods list | check NAME | new NAME`: what there is, whether it keeps the contract, and a start."""

from pathlib import Path
from typing import Annotated

import typer

import methods

app = typer.Typer(
    help="Approximate-inference methods: which there are, whether one keeps the contract, and a start for a new one.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command("list")
def list_() -> None:
    """Name, title, paper and use of every method."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("name", no_wrap=True)
    table.add_column("title", ratio=1)
    table.add_column("paper", no_wrap=True, ratio=1)
    table.add_column("applies to", max_width=14)
    broken = []
    for name in methods.names():
        try:
            method = methods.get(name)
        except methods.BrokenMethod as problem:
            broken.append(str(problem))
            table.add_row(escape(name), "[red]broken[/]", "its reason is below")
        else:
            paper = f"{method.paper.authors}: {method.paper.title}"
            table.add_row(*map(escape, (name, method.title, paper, _use(method))))
    console.print(table)
    for problem in broken:
        console.print(f"[red]broken[/] {escape(problem)}", soft_wrap=True)
    console.print("\n`ensemble:NAME` pools five members of a method, as in ensemble:swag.")


def _use(method) -> str:
    """What a method applies to, in words: tasks, or single likelihoods of one, and its limits."""
    tasks = {"regression": ("gaussian", "heteroscedastic"), "classification": ("bernoulli", "categorical")}
    words = []
    for task, kinds in tasks.items():
        usable = [kind for kind in kinds if kind in method.likelihoods]
        words += [task] if len(usable) == len(kinds) else usable
    words = ["all tasks"] if words == list(tasks) else words
    return "; ".join(part for part in (", ".join(words), method.limits) if part)


@app.command()
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Methods to check.", show_default=False)] = None,
    all_: Annotated[bool, typer.Option("--all", help="Check every method.")] = False,
) -> None:
    """Does an adapter keep the method contract? Exit code 1 if not."""
    from rich.console import Console
    from rich.markup import escape

    if bool(names) == all_:
        raise typer.BadParameter("name the methods to check, or give --all")
    try:
        chosen = [methods.get(name) for name in (methods.names() if all_ else names)]
    except (methods.UnknownMethod, methods.BrokenMethod) as problem:
        raise typer.BadParameter(str(problem)) from None

    # A door stands above the floors: the engine that the checks need is imported here and nowhere else in `methods`.
    import torch

    from bench.conformance import check as findings

    torch.set_num_threads(1)
    console = Console(highlight=False)
    broken = 0
    for method in chosen:
        console.print(f"[bold]{escape(method.name)}[/]")
        for finding in findings(method):
            mark = "[green]ok[/]  " if finding.passed else "[red]FAIL[/]"
            console.print(f"  {mark} {finding.check}: {escape(finding.detail)}", soft_wrap=True)
            broken += not finding.passed
    if broken:
        raise typer.Exit(1)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="What the method is to be called, as in my-method.", show_default=False)],
    into: Annotated[
        Path | None, typer.Option(help="Folder for its package; by default ./NAME.", show_default=False)
    ] = None,
) -> None:
    """Write a small working method as a package of its own, with its test, to start from."""
    from methods.catalogue import scaffold

    folder = into or Path(name)
    try:
        written = scaffold.write(name, folder)
    except scaffold.Refused as refusal:
        raise typer.BadParameter(str(refusal)) from None
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"\nNow: pip install -e {folder}\n     python -m methods check {name}")


if __name__ == "__main__":
    app()
