"""The command `edges`: tuned hyper-parameters that lie at an edge of their search range."""

from typing import Annotated

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
from lockstep_bench.shared.options import number

MARGIN = 0.02


def edges(
    results: Folders,
    preset: Annotated[str, typer.Option("--preset", help="Preset whose cells are read.")] = "tuned",
    suite: Annotated[str, only("--suite", "suites")] = "",
    datasets: Annotated[str, only("--datasets", "data sets")] = "",
    methods: Annotated[str, only("--methods", "methods")] = "",
    margin: Annotated[
        float,
        typer.Option(
            "--margin", callback=number, help="Largest distance from an end that counts as the edge.", min=0, max=0.5
        ),
    ] = MARGIN,
) -> None:
    """Print where in their search ranges the tuned hyper-parameters lie, and which sit at an edge.

    A position is 0 at the low end of a range and 1 at the high end, on the range's own scale; the numbers are medians
    over the splits of a data set.
    """
    from rich.console import Console

    from lockstep_bench.leaderboards.tables.search_ranges import as_table, optima
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, select

    read = read_folders(results)
    chosen = names_in(suite), [preset], names_in(datasets), names_in(methods)
    with stopping_on(NoSuchResults):
        cells = select(read.cells, *chosen)
    found = list(optima(cells))
    if not found:
        stop(f"preset '{preset}' has no tuned cells; choose another with --preset")
    Console().print(as_table(found, margin))
    n_edges = sum(optimum.at_edge(margin) for optimum in found)
    typer.echo(f"{n_edges} of {len(found)} optima (method x hyper-parameter x data set) within {margin:.0%} of an end")
    print_notes(notes_on(read, *chosen))
