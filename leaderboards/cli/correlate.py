"""Command that prints the rank correlation of two metrics over methods: `correlate`."""

import csv
import sys
from typing import Annotated

import typer

from lockstep_bench.leaderboards.cli.options import Folders, TableFormat, names_in, only, read_folders, stop


def correlate(
    results: Folders,
    suite: Annotated[str, typer.Option("--suite", help="Suite.")],
    metrics: Annotated[str, typer.Option("--metrics", metavar="A,B", help="Two metrics: rel_cov,nmll.")],
    preset: Annotated[str, typer.Option("--preset", help="Preset, or preset@hash.")] = "tuned",
    methods: Annotated[str, only("--methods", "methods")] = "",
    datasets: Annotated[str, only("--datasets", "data sets")] = "",
    format: Annotated[TableFormat, typer.Option("--format", help="Format of the table.")] = TableFormat.TEXT,
) -> None:
    """Print whether methods that are better by one metric are better by another: Kendall's tau over the methods.

    The mean over data sets has a 95 % interval by Student's t; docs/statistics.md explains it.
    """
    from lockstep_bench.leaderboards.stats.rank_correlation import rank_correlation, sentence
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, select, select_metrics

    pair = tuple(names_in(metrics))
    if len(pair) != 2:
        stop(f"--metrics takes two metrics, got {metrics!r}; write for example --metrics rel_cov,nmll")
    cells = with_labelled_presets(read_folders(results, suites=[suite], presets=[preset]).cells)
    try:
        chosen = select(cells, [suite], [preset], datasets=names_in(datasets), methods=names_in(methods))
        select_metrics(chosen, list(pair))
        found = rank_correlation(chosen, suite, preset, pair, methods=names_in(methods) or None)
    except (NoSuchResults, ValueError) as error:
        stop(str(error))
    for note in found.notes:
        typer.echo(note, err=True)
    if not found.by_dataset:
        stop("no data set has enough methods with values of both metrics")
    if format == TableFormat.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["dataset", "tau", "n_methods"])
        writer.writerows([name, one.tau, one.n_methods] for name, one in found.by_dataset.items())
        return
    typer.echo(sentence(found, pair))
    width = max(map(len, found.by_dataset))
    for name, one in found.by_dataset.items():
        typer.echo(f"  {name:{width}}  {one.tau:5.2f}  {one.n_methods} methods")
