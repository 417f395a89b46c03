"""The command `recheck`: repeat stored results, drawn at random, with the current code, and compare the numbers."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.leaderboards.cli.options import read_folders, stop
from lockstep_bench.shared.texts import visible

if TYPE_CHECKING:
    from lockstep_bench.leaderboards.data.rechecks import Again


def recheck(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results folder.")],
    cells: Annotated[int, typer.Option("--cells", min=1, max=1000, help="Number of cells to run again.")] = 10,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of the draw; by default the date, as in 20260131.")
    ] = None,
) -> None:
    """Run randomly drawn results again with the current code, compare the numbers, and store the outcome.

    A result is that of one method on one split of a data set. It is tuned and trained again by the command that its
    page shows. RESULTS/rechecks.json keeps the outcome. If all numbers agree, pages state so for every result that
    could have been drawn, and results of older code are no longer marked as such.

    Exit code: 0 if all numbers are equal or differ by no more than noise, 1 otherwise, 2 if nothing can be drawn.
    """
    from rich.console import Console

    from lockstep_bench.leaderboards.data.rechecks import read_rechecks, write_rechecks
    from lockstep_bench.leaderboards.rechecks.judging import recheck as checked
    from lockstep_bench.leaderboards.rechecks.report import show

    rows = read_folders([results], cached=False).rows
    try:
        earlier = read_rechecks(results)
    except ValueError as error:
        stop(f"'{results}/rechecks.json' is {error}; mend it, or move it elsewhere")
    draw = int(datetime.now(UTC).strftime("%Y%m%d")) if seed is None else seed
    done = checked(rows, cells, draw, tell=_tell)
    if not done.cells:
        stop(f"'{results}' has no cell to draw: none finished in reasonable time by the present training code")
    try:
        write_rechecks([*earlier, done], results)
    except OSError as error:
        stop(f"the outcome cannot be written to '{results}': {error.strerror or error}; make the folder writable")
    show(done, Console())
    raise typer.Exit(int(not done.agreed))


def _tell(cell: "Again") -> None:
    from lockstep_bench.leaderboards.rechecks.report import in_words

    typer.echo(visible(f"{in_words(cell)}: {cell.outcome}"), err=True)
