"""The command `compare`: significant differences between the results of two runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.leaderboards.cli.options import (
    TableFormat,
    names_in,
    notes_on,
    only,
    print_notes,
    read_folders,
    stop,
    stopping_on,
)

if TYPE_CHECKING:
    import pandas as pd

    from lockstep_bench.leaderboards.data.results import Leaderboard


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

    read = [read_folders([folder]) for folder in (old, new)]
    before, after = (one.cells for one in read)
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
    print_notes(_notes(dict(zip(("old", "new"), read, strict=True)), result.moves))
    changed = exact and (result.moves["verdict"] != "same").any()
    raise typer.Exit(int(result.anything or changed))


def _notes(read: "dict[str, Leaderboard]", compared: "pd.DataFrame") -> list[str]:
    """Return the notes on the compared suites, presets and data sets, each with the results that it is about."""
    suites, presets, datasets = (list(compared[name].unique()) for name in ("suite", "preset", "dataset"))
    presets = [preset.partition("@")[0] for preset in presets]
    sides: dict[str, list[str]] = {}
    for side, results in read.items():
        for note in notes_on(results, suites, presets, datasets):
            sides.setdefault(note, []).append(side)
    return [f"In the {' and '.join(some)} results: {note}" for note, some in sides.items()]
