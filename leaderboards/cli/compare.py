"""The command `compare`: significant differences between the results of two runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from lockstep_bench.leaderboards.cli.options import TableFormat, names_in, only, read_folders, stop, stopping_on


def compare(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A results folder.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A results folder.")],
    metric: Annotated[str, only("--metric", "metrics, by default those of the main tables, without times")] = "",
    format: Annotated[TableFormat, typer.Option("--format", help="csv: all compared numbers.")] = TableFormat.TEXT,
    exact: Annotated[bool, typer.Option("--exact", help="Count differences within noise as changes.")] = False,
) -> None:
    """Report which numbers differ significantly between two runs, and which cells changed their status.

    Exit code: 0 if nothing changed, 1 if something did, for better or worse, 2 if nothing can be compared.
    """
    from rich.console import Console

    from lockstep_bench.leaderboards.comparison import comparison, report
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, select_metrics
    from lockstep_bench.leaderboards.tables.spreadsheet import as_csv

    before, after = (read_folders([folder]).cells for folder in (old, new))
    with stopping_on(NoSuchResults):
        for cells in (before, after) if metric else ():
            select_metrics(cells, names_in(metric))
    result = comparison.compare(before, after, names_in(metric) or comparison.DEFAULT)
    if format is TableFormat.CSV:
        sys.stdout.buffer.write(as_csv(result.moves).encode())
    else:
        report.show(result, Console())
    if not result.comparable:
        stop(f"'{old}' and '{new}' have nothing in common that could be compared; give two runs of the same cells")
    changed = exact and (result.moves["verdict"] != "same").any()
    raise typer.Exit(int(result.anything or changed))
