"""Command line of the leaderboards: `python -m leaderboards COMMAND`, with `--help` for the list of commands."""

import enum
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import leaderboards

if TYPE_CHECKING:
    import pandas as pd

    from leaderboards.data.results import Results

app = typer.Typer(
    help="Leaderboards from results folders: a web site, tables for papers and programs, comparisons of two runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Folders = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS...", help="Results folders that `run_all.py --out` wrote; several are merged."),
]


def _names(option: str, what: str) -> typer.models.OptionInfo:
    return typer.Option(option, metavar="A,B", help=f"Only these {what}.", show_default=False)


class Format(enum.StrEnum):
    """Formats that `export` writes."""

    CSV = "csv"
    PARQUET = "parquet"
    LATEX = "latex"
    MARKDOWN = "markdown"


class Table(enum.StrEnum):
    """Formats that `rank` and `replications` print."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


class Report(enum.StrEnum):
    """Formats that `compare` prints."""

    TEXT = "text"
    JSON = "json"


@app.command()
def build(
    results: Folders,
    html: Annotated[Path, typer.Option("--html", metavar="DIR", help="Folder to write index.html to.")],
) -> None:
    """Write DIR/index.html and the pages it links to. They need neither a server nor a network."""
    for folder in results:
        _require_results(folder)
    try:
        page = leaderboards.build(results, html)
    except OSError as error:
        _leave(f"the pages cannot be written to '{html}': {error.strerror or error}; choose another folder with --html")
    typer.echo(page)


@app.command()
def export(
    results: Folders,
    format: Annotated[Format, typer.Option("--format", help="Format of the table.")] = Format.CSV,
    suite: Annotated[str, _names("--suite", "suites")] = "",
    preset: Annotated[str, _names("--preset", "presets")] = "",
    datasets: Annotated[str, _names("--datasets", "data sets")] = "",
    methods: Annotated[str, _names("--methods", "methods")] = "",
    metric: Annotated[
        str,
        _names("--metric", "metrics. latex and markdown write a table for each, by default for the leading metric"),
    ] = "",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write to FILE instead of standard output.")
    ] = None,
) -> None:
    """Print means, standard errors and numbers of splits.

    csv and parquet: one row per suite, data set, method, preset and metric, with medians and failures. latex (booktabs)
    and markdown: methods by data sets, with marks for the best mean and for means that do not differ significantly from
    it, and a caption with protocol and number of splits.

    Rows that were run for tables of papers are exported only if --preset names them; see `replications`.
    """
    if format is Format.PARQUET and to is None and sys.stdout.isatty():
        _leave("Parquet is binary and cannot be shown in a terminal; use --to FILE, or pipe it into a program")
    from leaderboards.data.replicated import set_apart
    from leaderboards.stats.summary import with_labelled_presets
    from leaderboards.tables.selection import NoSuchResults, select, select_metrics

    try:
        read = _read(results)
        cells = with_labelled_presets(read.cells if preset else set_apart(read).others.cells)
        cells = select(cells, _listed(suite), _listed(preset), _listed(datasets), _listed(methods))
        wanted = select_metrics(cells, _listed(metric)) if metric else []
    except NoSuchResults as error:
        _leave(str(error))
    content = _content(cells, wanted, format)
    if to is None:
        sys.stdout.buffer.write(content)
        return
    try:
        temporary = to.with_name(f".{to.name}.{os.getpid()}.tmp")
        temporary.write_bytes(content)
        os.replace(temporary, to)
    except OSError as error:
        _leave(f"the table cannot be written to '{to}': {error.strerror or error}; choose another file with --to")


@app.command()
def rank(
    results: Folders,
    suite: Annotated[str, typer.Option("--suite", help="Suite.")],
    preset: Annotated[str, typer.Option("--preset", help="Preset, or preset@hash.")],
    metric: Annotated[str, typer.Option("--metric", help="Metric that has a direction in which it is better.")],
    families: Annotated[
        bool,
        typer.Option(
            "--families/--variants", help="One method of each family, chosen by validation score, or all variants."
        ),
    ] = True,
    methods: Annotated[str, _names("--methods", "methods, whatever their families")] = "",
    datasets: Annotated[str, _names("--datasets", "data sets; one is ranked by its splits")] = "",
    reference: Annotated[str, typer.Option("--reference", help="Method that differences refer to.")] = "map",
    each: Annotated[bool, typer.Option("--each", help="Rank on each data set by itself.")] = False,
    power: Annotated[
        bool,
        typer.Option(
            "--power",
            help="Add the smallest difference that would have been detected, and the number of data sets or splits "
            "that would detect the one seen, each with 80 % probability.",
        ),
    ] = False,
    format: Annotated[Table, typer.Option("--format", help="Format of the table.")] = Table.TEXT,
) -> None:
    """Rank methods by one metric, with verdicts that are false in at most 5 % of leaderboards.

    Verdicts: best (all others are worse), could be best (better than some, worse than none), worse (than some other),
    undecided (neither), failed (no value on some split). docs/statistics.md says how they are found.
    """
    from leaderboards.metrics import metric as metric_named
    from leaderboards.stats.ranking import rank as ranked
    from leaderboards.stats.ranking import rank_on_datasets
    from leaderboards.stats.summary import with_labelled_presets
    from leaderboards.tables import rankings
    from leaderboards.tables.selection import NoSuchResults, require, select, select_metrics

    names, sets = _listed(methods), _listed(datasets)
    try:
        cells = select(with_labelled_presets(_read(results).cells), [suite], [preset], sets)
        require("method", [*names, *([] if reference == "map" else [reference])], set(cells["method"]))
        select_metrics(cells, [metric])
    except NoSuchResults as error:
        _leave(str(error))
    if metric_named(metric).goal is None:
        _leave(f"metric '{metric}' has no direction in which it is better; choose another one")
    labels = sorted(set(cells["preset"]))
    if len(labels) > 1:
        _leave(f"preset '{preset}' was run under several protocols; give one of {', '.join(labels)}")
    arguments = (cells, suite, labels[0], metric, names, sets, families, reference)
    found = rank_on_datasets(*arguments) if each else {"": ranked(*arguments)}
    for note in dict.fromkeys(note for ranking in found.values() for note in ranking.notes):
        typer.echo(note, err=True)
    write = {Table.TEXT: rankings.as_text, Table.CSV: rankings.as_csv, Table.JSON: rankings.as_json}
    typer.echo(write[format](found, power).removesuffix("\n"))


@app.command()
def simulate(
    methods: Annotated[int, typer.Option("--methods", min=2, help="Methods of a leaderboard.")] = 32,
    datasets: Annotated[int, typer.Option("--datasets", min=2, help="Data sets.")] = 4,
    splits: Annotated[int, typer.Option("--splits", min=2, help="Splits of each data set.")] = 5,
    overlap: Annotated[
        float, typer.Option("--overlap", min=0.05, max=0.95, help="Share of the rows that a split trains on.")
    ] = 0.9,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Leaderboards of each scenario.")] = 1000,
    gap: Annotated[
        float, typer.Option("--gap", min=0, help="How much better the best method is, in split standard deviations.")
    ] = 1.5,
    effect: Annotated[
        float, typer.Option("--effect", min=0, help="Size of set effects, in split standard deviations.")
    ] = 0.3,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draws.")] = 0,
) -> None:
    """Draw leaderboards of known truth and print how often verdicts are false and intervals cover, in per cent.

    The methods are regressions that are really fitted, on overlapping parts of finite data sets. A verdict is false if
    it contradicts the expected losses. docs/statistics.md explains the scenarios.
    """
    from leaderboards.simulation.drawing import Size
    from leaderboards.simulation.promises import promises, scenarios
    from leaderboards.simulation.report import as_markdown

    size = Size(methods, datasets, splits, overlap)
    typer.echo(as_markdown([promises(scenario, size, repeats, seed) for scenario in scenarios(gap, effect)]), nl=False)


@app.command()
def publish(
    results: Folders,
    to: Annotated[
        str,
        typer.Option("--to", metavar="DIR|branch:NAME", help="A folder, or a branch of the current git repository."),
    ],
) -> None:
    """Prepare a site for publication, with its results and checksums. Nothing is uploaded.

    A folder is replaced as a whole if an earlier publish made it, and left alone otherwise. A branch gets a new commit
    if anything has changed; the working tree and the index stay as they are. The same results give the same bytes.
    """
    from leaderboards.publishing import PublishingRefused, publish_to_branch, publish_to_folder

    read = _read(results)
    try:
        if to.startswith("branch:"):
            contents, commit = publish_to_branch(read, to.removeprefix("branch:"))
        else:
            contents, commit = publish_to_folder(read, Path(to)), None
    except PublishingRefused as refusal:
        _leave(str(refusal))
    except OSError as error:
        _leave(f"the site cannot be written to '{to}': {error.strerror or error}; choose another place with --to")
    typer.echo(f"{contents.title}; results {_kib(contents.results_bytes)}, whole site {_kib(contents.site_bytes)}")
    typer.echo(f"the pages name the machines that ran the cells: {contents.hosts}")
    if commit:
        typer.echo(f"commit {commit.id[:12]}, {'new' if commit.made else 'unchanged'}")
        typer.echo(f"to publish it: {commit.push}")
    else:
        typer.echo(Path(to) / "index.html")


@app.command()
def serve(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...|SITE", help="Results folders, or the folder of a site.")
    ],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve a leaderboard on this machine only, until Ctrl-C."""
    import tempfile

    from leaderboards.site.serving import LOOPBACK, server

    with tempfile.TemporaryDirectory() as built:
        if len(folders) == 1 and (folders[0] / "index.html").is_file():
            (site,) = folders
        else:
            for folder in folders:
                _require_results(folder)
            site = leaderboards.build(folders, built).parent
        try:
            running = server(site, port)
        except OSError as error:
            _leave(f"port {port} is not available: {error.strerror or error}; --port 0 takes a free one")
        with running:
            try:
                typer.echo(f"http://{LOOPBACK}:{running.server_port}/ (stop with Ctrl-C)")
                running.serve_forever()
            except KeyboardInterrupt:
                typer.echo("")


def _kib(n_bytes: int) -> str:
    return f"{n_bytes / 1024:,.0f} KiB"


@app.command()
def compare(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A results folder.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A results folder.")],
    metric: Annotated[str, _names("--metric", "metrics, by default those of the main tables, without times")] = "",
    format: Annotated[Report, typer.Option("--format", help="Format of the report.")] = Report.TEXT,
    exact: Annotated[bool, typer.Option("--exact", help="Count differences within noise as changes.")] = False,
) -> None:
    """Report which numbers differ significantly between two runs, and which cells changed their status.

    Exit code: 0 if nothing changed, 1 if something did, for better or worse, 2 if nothing can be compared.
    """
    from rich.console import Console

    from leaderboards.comparison import comparison, report
    from leaderboards.tables.selection import NoSuchResults, select_metrics

    before, after = (_read([folder]).cells for folder in (old, new))
    try:
        for cells in (before, after) if metric else ():
            select_metrics(cells, _listed(metric))
    except NoSuchResults as error:
        _leave(str(error))
    result = comparison.compare(before, after, _listed(metric) or comparison.DEFAULT)
    if format is Report.JSON:
        typer.echo(report.as_json(result))
    else:
        report.show(result, Console())
    if not result.comparable:
        _leave(f"'{old}' and '{new}' have nothing in common that could be compared; give two runs of the same cells")
    changed = exact and (result.moves["verdict"] != "same").any()
    raise typer.Exit(int(result.anything or changed))


@app.command()
def replications(
    results: Folders,
    format: Annotated[Table, typer.Option("--format", help="Format of the table.")] = Table.TEXT,
    entry: Annotated[
        str, _names("--entry", "tables and figures, by their names for run_all.py; text then shows their numbers")
    ] = "",
) -> None:
    """Print the papers' numbers and claims beside those that `run_all.py --suite papers` measured, with verdicts.

    text: a line per table or figure, and every number of those named with --entry. csv: a row per table, published
    number and claim. json: all of it. The page Replications states the rules of the verdicts.
    """
    from bench.replications.entries import entries
    from leaderboards.data.published import read_published
    from leaderboards.replications import comparison, report
    from leaderboards.tables.selection import NoSuchResults, require

    names = _listed(entry)
    try:
        require("table or figure", names, [one.name for one in entries()], "is unknown")
    except NoSuchResults as error:
        _leave(str(error))
    made = comparison.replications(_read(results).cells, read_published(), entries())
    made = [one for one in made if not names or one.entry.name in names]
    if format is Table.JSON:
        typer.echo(report.as_json(made))
    elif format is Table.CSV:
        sys.stdout.buffer.write(report.frame(made).to_csv(index=False, lineterminator="\n").encode())
    else:
        from rich.console import Console

        report.show(made, Console(), details=bool(names))


def _read(folders: list[Path]) -> "Results":
    """Read results folders, and print on standard error what was left out of them."""
    for folder in folders:
        _require_results(folder)
    from bench.results.reader import has_cells
    from leaderboards.data.replicated import set_apart
    from leaderboards.data.results import read_results
    from leaderboards.wording.mixtures import mixtures

    if not any(map(has_cells, folders)):
        empty = " and ".join(f"'{folder}'" for folder in folders)
        _leave(f"{empty}: no finished cells yet (no .parquet file under cells/); run `python run_all.py` first")
    results = read_results(*folders)
    for path, reason in results.skipped:
        typer.echo(f"left out: {path}: {reason}", err=True)
    # The runs of a replication have protocols of their own, which is no mixture.
    for mixture in mixtures(set_apart(results).others.cells, results.choices):
        typer.echo(mixture.sentence, err=True)
    return results


def _content(cells: "pd.DataFrame", metrics: list[str], format: Format) -> bytes:
    if format in (Format.LATEX, Format.MARKDOWN):
        from leaderboards.tables import latex, markdown, tables

        write = latex if format is Format.LATEX else markdown
        return write(tables(cells, metrics)).encode()
    from leaderboards.tables.tidy import tidy

    table = tidy(cells)
    table = table[table["metric"].isin(metrics)] if metrics else table
    csv = format is Format.CSV
    return table.to_csv(index=False, lineterminator="\n").encode() if csv else table.to_parquet(index=False)


def _listed(text: str) -> list[str]:
    return [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]


def _require_results(folder: Path) -> None:
    """Exit with code 2 unless a run has at least begun to fill the folder."""
    if not folder.exists():
        _leave(f"the results folder '{folder}' does not exist; `python run_all.py --out {folder}` creates one")
    if not folder.is_dir():
        _leave(f"'{folder}' is a file; give the results folder that holds cells/")
    if not (folder / "cells").is_dir() and not (folder / "unavailable.json").exists():
        _leave(f"'{folder}' is not a results folder: it holds neither cells/ with .parquet files nor unavailable.json")


def _leave(sentence: str) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    app(prog_name="python -m leaderboards")
