"""The command `python -m leaderboards curves`: scores against the number of training rows, with verdicts at each."""

import csv
import io
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.leaderboards.cli.options import (
    Folders,
    TableFormat,
    names_in,
    notes_on,
    one_label,
    only,
    print_notes,
    read_folders,
    stopping_on,
)

if TYPE_CHECKING:
    from lockstep_bench.leaderboards.stats.learning_curves import Curves


def curves(
    results: Folders,
    preset: Annotated[str, typer.Option("--preset", help="Preset, or preset@hash for one of its protocols.")] = "tuned",
    metric: Annotated[str, typer.Option("--metric", help="Metric to compare by.")] = "nmll",
    methods: Annotated[str, only("--methods", "methods")] = "",
    reference: Annotated[str, typer.Option("--reference", help="Method that the others are compared with.")] = "map",
    suite: Annotated[str, typer.Option("--suite", help="Suite of nested subsamples.")] = "learning-curves",
    format: Annotated[TableFormat, typer.Option("--format", help="Format of the table.")] = TableFormat.TEXT,
) -> None:
    """Print scores against the number of training rows n; say at which n each method is better than the reference.

    At each n the table has the difference to the reference with its 95 % interval over data sets, the confidence set
    of the rank ("ranks left open") and the verdict. The probability that any verdict or set is false, at any n, is at
    most 5 % (docs/statistics.md).
    """
    from lockstep_bench.leaderboards.stats.learning_curves import learning_curves
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, select, select_metrics

    read = read_folders(results)
    with stopping_on(NoSuchResults):
        cells = select(with_labelled_presets(read.cells), [suite], [preset], [])
        select_metrics(cells, [metric])
    with stopping_on(ValueError):
        found = learning_curves(cells, suite, one_label(cells, preset), metric, tuple(names_in(methods)), reference)
    typer.echo((_as_csv(found) if format is TableFormat.CSV else _as_text(found)).removesuffix("\n"))
    print_notes([*found.notes, *notes_on(read, [suite], [preset], methods=names_in(methods))])


def _as_csv(curves: "Curves") -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = ("mean_rank", "rank_low", "rank_high", "difference", "low", "high", "verdict", "n_datasets", "n_failed")
    writer.writerow(["n", "method", *names, "against_reference"])
    for point in curves.points:
        writer.writerow([point.size, point.row.method, *(getattr(point.row, name) for name in names), point.against])
    return out.getvalue()


def _as_text(curves: "Curves") -> str:
    """Return a line for each method at each size, and then the sizes at which it is better than the reference."""
    from rich.console import Console
    from rich.table import Table

    from lockstep_bench.leaderboards.tables import ranking_numbers

    out = io.StringIO()
    console = Console(file=out, width=200)
    table = Table(box=None, pad_edge=False)
    for heading in ("n", "method", "mean rank", "ranks left open", f"against {curves.reference}", "95 %", "verdict"):
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("method", "verdict") else "right")
    for point in curves.points:
        row = point.row
        numbers = ranking_numbers.difference(row, curves.unit), ranking_numbers.interval(row, curves.unit)
        ranks = f"{row.mean_rank:.1f}", f"{row.rank_low} to {row.rank_high}"
        table.add_row(str(point.size), row.method, *ranks, *numbers, row.verdict)
    console.print(table)
    for method in dict.fromkeys(point.row.method for point in curves.points):
        better, worse = curves.pays_off(method)
        if method != curves.reference:
            console.print(
                f"{method}: better than {curves.reference} at n = {_listed(better)}; worse at {_listed(worse)}"
            )
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes)) or "none"
