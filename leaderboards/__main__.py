"""The door to the leaderboards: `python -m leaderboards build|export`."""

import enum
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import leaderboards

app = typer.Typer(
    help="Leaderboards from a results folder: an HTML page, or a table for other programs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Out = Annotated[Path, typer.Argument(metavar="OUT", help="The results folder that `run_all.py --out OUT` wrote.")]


class Format(enum.StrEnum):
    """What `export` writes."""

    CSV = "csv"
    PARQUET = "parquet"


@app.command()
def build(
    out: Out,
    html: Annotated[Path, typer.Option("--html", metavar="DIR", help="The folder for index.html.")],
) -> None:
    """Write one self-contained page, DIR/index.html; it needs no server and no network."""
    _require_results(out)
    try:
        page = leaderboards.build(out, html)
    except OSError as error:
        _leave(f"the page cannot be written to '{html}': {error.strerror or error}")
    typer.echo(page)


@app.command()
def export(
    out: Out,
    format: Annotated[Format, typer.Option("--format", help="Of the table.")] = Format.CSV,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write to FILE instead of standard output.")
    ] = None,
) -> None:
    """Print means, standard errors and medians: one row per suite, data set, method, preset and metric."""
    _require_results(out)
    from leaderboards.results import cell_files, read_results
    from leaderboards.summary import mixtures, with_labelled_presets
    from leaderboards.tidy import tidy

    if not cell_files(out):
        _leave(f"'{out}' holds no finished cells yet: there is no .parquet file under '{out / 'cells'}'")
    if format is Format.PARQUET and to is None and sys.stdout.isatty():
        _leave("Parquet is binary and would garble the terminal; say --to FILE, or pipe it into a program")
    results = read_results(out)
    for path, reason in results.skipped:
        typer.echo(f"left out: {path}: {reason}", err=True)
    for sentence in mixtures(with_labelled_presets(results.cells)):
        typer.echo(sentence, err=True)
    table = tidy(results.cells)
    content = (
        table.to_csv(index=False, lineterminator="\n").encode()
        if format is Format.CSV
        else table.to_parquet(index=False)
    )
    if to is None:
        sys.stdout.buffer.write(content)
        return
    try:
        temporary = to.with_name(f".{to.name}.{os.getpid()}.tmp")
        temporary.write_bytes(content)
        os.replace(temporary, to)
    except OSError as error:
        _leave(f"the table cannot be written to '{to}': {error.strerror or error}")


def _require_results(out: Path) -> None:
    """Leave with 2 unless `out` is a folder that a run has at least begun to fill."""
    if not out.exists():
        _leave(f"the results folder '{out}' does not exist; `python run_all.py --out {out}` makes one")
    if not out.is_dir():
        _leave(f"'{out}' is a file; the results folder that holds cells/ was expected")
    if not (out / "cells").is_dir() and not (out / "unavailable.json").exists():
        _leave(f"'{out}' is no results folder: it holds neither cells/ with .parquet files nor unavailable.json")


def _leave(sentence: str) -> None:
    typer.echo(sentence, err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    app(prog_name="python -m leaderboards")
