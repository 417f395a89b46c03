"""The door to the leaderboards: `python -m leaderboards build|export|publish|serve`."""

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


@app.command()
def publish(
    out: Out,
    to: Annotated[
        str,
        typer.Option("--to", metavar="DIR|branch:NAME", help="A folder, or a branch of the current git repository."),
    ],
) -> None:
    """Prepare a site for others, with its results and checksums beside it; nothing is sent anywhere.

    A folder is replaced as a whole if publish made it, and left alone otherwise. A branch gets a new commit if anything
    has changed; working tree and index stay as they are. The same results give the same bytes.
    """
    _require_results(out)
    from leaderboards.publishing import Refused, publish_to_branch, publish_to_folder

    try:
        if to.startswith("branch:"):
            contents, commit = publish_to_branch(out, to.removeprefix("branch:"))
        else:
            contents, commit = publish_to_folder(out, Path(to)), None
    except Refused as refusal:
        _leave(str(refusal))
    except OSError as error:
        _leave(f"the site cannot be written to '{to}': {error.strerror or error}")
    for path, reason in contents.skipped:
        typer.echo(f"left out: {path}: {reason}", err=True)
    typer.echo(f"{contents.title}; results {_kib(contents.results_bytes)}, whole site {_kib(contents.site_bytes)}")
    typer.echo(f"it names the machines that ran them: {contents.hosts}")
    if commit:
        typer.echo(f"commit {commit.id[:12]}, {'new' if commit.made else 'as before: nothing has changed'}")
        typer.echo(f"to publish it: {commit.push}")
    else:
        typer.echo(Path(to) / "index.html")


@app.command()
def serve(
    site: Annotated[Path, typer.Argument(metavar="RESULTS|SITE", help="A results folder, or a site that was built.")],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8000,
) -> None:
    """Show a leaderboard in this machine's browsers, and nobody else's, until Ctrl-C."""
    import tempfile

    from leaderboards.serving import server

    with tempfile.TemporaryDirectory() as built:
        if not (site / "index.html").is_file():
            _require_results(site)
            leaderboards.build(site, built)
            site = Path(built)
        try:
            running = server(site, port)
        except OSError as error:
            _leave(f"port {port} cannot be had: {error.strerror or error}; --port 0 takes a free one")
        with running:
            try:
                typer.echo(f"http://127.0.0.1:{running.server_port}/ (Ctrl-C ends it)")
                running.serve_forever()
            except KeyboardInterrupt:
                typer.echo("")


def _kib(n_bytes: int) -> str:
    return f"{n_bytes / 1024:,.0f} KiB"


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
