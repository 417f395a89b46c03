"""The door to the data sets: `python -m datasets list|fetch|verify`."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

import datasets
from datasets.errors import BrokenDataset, Unavailable, UnknownDataset, Unreachable
from datasets.images.weights import WEIGHTS

app = typer.Typer(
    help="The benchmark's data sets: which there are, getting them, checking them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where the files lie. Default: BENCH_DATA_DIR, else the user's cache folder."),
]
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Data sets or weights, as `list` names them.")]

STYLES = {"ready": "green", "built in": "green", "not here": "yellow", "damaged": "bold red", "broken": "bold red"}


@app.command("list")
def list_(
    notes: Annotated[bool, typer.Option("--notes", help="Add origin, licence and the facts that bite.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show all data sets and whether they are here."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", collapse_padding=True, pad_edge=False)
    for heading in ("name", "title", "task"):
        table.add_column(heading, no_wrap=heading != "title")
    for heading in ("rows", "features", "OOD", "splits"):
        table.add_column(heading, justify="right")
    table.add_column("state", no_wrap=True)
    for name in datasets.names():
        state = _state(name, datasets.availability(name, data_dir))
        try:
            source = datasets.entry(name)
            sizes = (source.n_rows, _features(source), source.n_ood or "", source.n_splits)
            cells = (source.title, _task(source), *sizes)
        except BrokenDataset:
            cells = ("",) * 6
        # Text, not str: a stranger's title may hold what rich takes for markup.
        table.add_row(name, *(Text(str(cell)) for cell in cells), Text(state, STYLES[state]))
    Console().print(table)
    for name, weights in WEIGHTS.items():
        typer.echo(f"\n{name}: weights, {weights.title}: {_state(name, datasets.availability(name, data_dir))}")
    typer.echo(f"\ndata folder: {datasets.data_dir(data_dir)}")
    for problem in datasets.problems():
        typer.echo(f"broken: {problem}")
    if notes:
        for name in datasets.names():
            _show_notes(name)


@app.command()
def fetch(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="All that can be downloaded.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Download data sets and weights; what is already here and valid is not downloaded again."""
    if every == bool(names):
        raise typer.BadParameter("say which data sets to fetch, or --all, but not both")
    failed = False
    out_of_reach: set[str | None] = set()
    for name in _downloadable() if every else _known(names):
        try:
            if (host := _host(name)) in out_of_reach:
                typer.echo(f"{name}: {host} was out of reach a moment ago", err=True)
                continue
            arrived = datasets.fetch(name, data_dir, progress=True)
        except Unreachable as problem:
            typer.echo(str(problem), err=True)
            # Other sets come from the same server: one wait for a timeout is enough.
            out_of_reach.add(host)
            failed = True
        except Unavailable as problem:
            typer.echo(str(problem), err=True)
            failed = True
        else:
            typer.echo(f"{name}: {f'{len(arrived)} files downloaded' if arrived else 'already here'}")
    raise typer.Exit(failed)


@app.command()
def verify(names: Names = None, data_dir: DataDir = None) -> None:
    """Compare every file with its pinned checksum; exit with 1 if one is damaged or missing."""
    failed = False
    for name in _known(names) if names else datasets.names():
        found = datasets.availability(name, data_dir, deep=True)
        failed |= found.state != "ready"
        typer.echo(f"{name}: {_state(name, found)}" + (f": {found.reason}; {found.remedy}" if found.remedy else ""))
    raise typer.Exit(failed)


def _downloadable() -> tuple[str, ...]:
    """Weights, and all sets but those that a person has to get; broken ones are kept, to be complained about."""
    broken = {problem.name for problem in datasets.problems()}
    sets = (name for name in datasets.names() if name in broken or not datasets.entry(name).by_hand)
    return (*sets, *WEIGHTS)


def _host(name: str) -> str | None:
    """The server of a set's files; None for a set without."""
    return urlsplit(datasets.published(name).base_url).hostname


def _known(names: list[str]) -> tuple[str, ...]:
    """The names, each once; leaves with 2 at one that nobody registered."""
    for name in names:
        if name not in (*datasets.names(), *WEIGHTS):
            typer.echo(str(UnknownDataset(name, datasets.names())), err=True)
            raise typer.Exit(2)
    return tuple(dict.fromkeys(names))


def _state(name: str, found: datasets.Availability) -> str:
    """The state in a person's words."""
    if found.state == "missing":
        return "not here"
    if found.state == "ready" and not datasets.published(name).needs_download:
        return "built in"
    return found.state


def _features(source: datasets.Source) -> str:
    return "x".join(map(str, source.image)) if source.image else str(source.n_features)


def _task(source: datasets.Source) -> str:
    return f"{source.n_classes} classes" if source.task == "multiclass" else source.task


def _show_notes(name: str) -> None:
    try:
        source = datasets.entry(name)
    except BrokenDataset:
        return
    typer.echo(f"\n{name}: {source.title}\n  origin: {source.origin}\n  licence: {source.licence}")
    for note in source.notes:
        typer.echo(f"  - {note}")


if __name__ == "__main__":
    app(prog_name="python -m datasets")
