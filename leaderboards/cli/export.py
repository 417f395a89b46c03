"""The command `export`: tables of means for papers and programs."""

import enum
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.leaderboards.cli.options import (
    Folders,
    names_in,
    notes_on,
    only,
    print_notes,
    read_folders,
    stop,
    stopping_on,
)
from lockstep_bench.shared.rows.atomic import write_atomically

if TYPE_CHECKING:
    import pandas as pd


class ExportFormat(enum.StrEnum):
    """File formats that the command `export` writes."""

    CSV = "csv"
    PARQUET = "parquet"
    LATEX = "latex"
    MARKDOWN = "markdown"


def export(
    results: Folders,
    format: Annotated[ExportFormat, typer.Option("--format", help="Format of the table.")] = ExportFormat.CSV,
    suite: Annotated[str, only("--suite", "suites")] = "",
    preset: Annotated[str, only("--preset", "presets")] = "",
    datasets: Annotated[str, only("--datasets", "data sets")] = "",
    methods: Annotated[str, only("--methods", "methods")] = "",
    metric: Annotated[
        str,
        only("--metric", "metrics. latex and markdown write a table for each, by default for the leading metric"),
    ] = "",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write to FILE instead of standard output.")
    ] = None,
) -> None:
    """Print or write tables of means over splits, with standard errors and numbers of splits.

    csv and parquet: one row per suite, data set, method, preset and metric, with medians, worst splits and failures.
    latex and markdown: methods by data sets, with marks for the best mean and for means that do not differ
    significantly from it, and a caption with protocol and number of splits. latex needs the packages booktabs and
    graphicx; it splits or scales what is larger than a page.

    Rows that were run for tables of papers are exported only if --preset names them; see `replications`.
    """
    if format is ExportFormat.PARQUET and to is None and sys.stdout.isatty():
        stop("Parquet is binary and cannot be shown in a terminal; use --to FILE, or pipe it into a program")
    if to is not None and os.path.isdir(to):  # unlike `Path.is_dir`, no error for a name that is too long
        stop(f"the table cannot be written to '{to}', which is a folder; name a file with --to")
    from lockstep_bench.leaderboards.data.replicated import set_apart
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, select, select_metrics

    chosen = names_in(suite), names_in(preset), names_in(datasets), names_in(methods)
    with stopping_on(NoSuchResults):
        read = read_folders(results)
        cells = with_labelled_presets(read.cells if preset else set_apart(read).others.cells)
        cells = select(cells, *chosen)
        wanted = select_metrics(cells, names_in(metric)) if metric else []
    content = _content(cells, wanted, format)
    if to is None:
        sys.stdout.buffer.write(content)
    else:
        _write(content, to)
    print_notes(notes_on(read, *chosen))


def _write(content: bytes, to: Path) -> None:
    try:
        write_atomically(content, to)
    except OSError as error:
        stop(f"the table cannot be written to '{to}': {error.strerror or error}; choose another file with --to")


def _content(cells: "pd.DataFrame", metrics: list[str], format: ExportFormat) -> bytes:
    if format in (ExportFormat.LATEX, ExportFormat.MARKDOWN):
        from lockstep_bench.leaderboards.tables import latex, markdown, tables

        write = latex if format is ExportFormat.LATEX else markdown
        return write(tables(cells, metrics)).encode()
    from lockstep_bench.leaderboards.tables.spreadsheet import as_csv
    from lockstep_bench.leaderboards.tables.tidy import tidy

    table = tidy(cells)
    table = table[table["metric"].isin(metrics)] if metrics else table
    csv = format is ExportFormat.CSV
    return as_csv(table).encode() if csv else table.to_parquet(index=False)
