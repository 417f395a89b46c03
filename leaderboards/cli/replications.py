"""The command `replications`: compares numbers printed in papers with those of our replications."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from lockstep_bench.leaderboards.cli.options import (
    Folders,
    TableFormat,
    names_in,
    notes_on,
    only,
    print_notes,
    read_folders,
    stop,
    stopping_on,
)
from lockstep_bench.shared.texts import visible


def replications(
    results: Folders,
    format: Annotated[TableFormat, typer.Option("--format", help="Format of the table.")] = TableFormat.TEXT,
    entry: Annotated[
        str, only("--entry", "tables and figures, by their names for run_all.py; text then shows their numbers")
    ] = "",
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Print the ledger of disputed numbers instead, as Markdown.")
    ] = False,
) -> None:
    """Print the papers' numbers and claims beside those that `run_all.py --suite papers` measured, with verdicts.

    text: a line per table or figure, and every number of those named with --entry. csv: a row per table, published
    number and claim. The page Replications states the rules of the verdicts.
    """
    if ledger:
        if entry or format is not TableFormat.TEXT:
            stop("--ledger prints the whole ledger as Markdown; leave out --entry and --format")
        _print_ledger(results)
        return
    from lockstep_bench.leaderboards.data.published import read_published
    from lockstep_bench.leaderboards.replications import comparison, report
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, require
    from lockstep_bench.leaderboards.tables.spreadsheet import as_csv
    from lockstep_bench.leaderboards.wording.mixtures import left_out
    from lockstep_bench.shared.papers.entries import entries

    names = names_in(entry)
    with stopping_on(NoSuchResults):
        require("table or figure", names, [one.name for one in entries()], "is unknown")
    read = read_folders(results)
    made = comparison.replications(read.cells, read_published(), entries())
    made = [one for one in made if not names or one.entry.name in names]
    if format is TableFormat.CSV:
        sys.stdout.buffer.write(as_csv(report.frame(made)).encode())
    else:
        from rich.console import Console

        report.show(made, Console(), details=bool(names))
    chosen = {one.entry.rows for one in made}
    choices = [choice for choice in read.choices if choice.preset in chosen]
    print_notes([visible(note.sentence) for note in left_out(choices)])


def _print_ledger(results: list[Path]) -> None:
    from lockstep_bench.leaderboards.replications.ledger import disputes, settle
    from lockstep_bench.leaderboards.replications.ledger_text import markdown

    read = read_folders(results)
    sys.stdout.buffer.write(markdown(settle(disputes(), read.cells)).encode())
    print_notes(notes_on(read))
