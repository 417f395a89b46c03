"""Command that prints the rank correlation of two metrics over methods: `correlate`."""

import csv
import sys
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    import pandas as pd

    from lockstep_bench.leaderboards.stats.rank_correlation import RankCorrelation


def correlate(
    results: Folders,
    metrics: Annotated[str, typer.Option("--metrics", metavar="A,B", help="Two metrics: rel_cov,nmll.")],
    suite: Annotated[
        str, typer.Option("--suite", metavar="A,B", help="Suites; by default all that have both metrics.")
    ] = "",
    preset: Annotated[
        str, typer.Option("--preset", metavar="A,B", help="Preset, or preset@hash: one, or one for each suite.")
    ] = "tuned",
    methods: Annotated[str, only("--methods", "methods")] = "",
    datasets: Annotated[str, only("--datasets", "data sets")] = "",
    format: Annotated[TableFormat, typer.Option("--format", help="Format of the table.")] = TableFormat.TEXT,
) -> None:
    """Print whether methods that are better by one metric are better by another: Kendall's tau over the methods.

    The mean over data sets has a 95 % interval by Student's t, and a wider one that takes the methods for a sample too;
    docs/statistics.md explains both. With several suites, each has its line, and all of them together have one.
    """
    from lockstep_bench.leaderboards.stats.rank_correlation import over_suites, rank_correlation
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import select, select_metrics

    pair, presets = tuple(names_in(metrics)), names_in(preset)
    if len(pair) != 2:
        stop(f"--metrics takes two metrics, got {metrics!r}; write for example --metrics rel_cov,nmll")
    read = read_folders(results)
    cells = with_labelled_presets(read.cells)
    suites = names_in(suite) or _with_both(cells, presets, pair)
    if len(presets) not in (1, len(suites)):
        stop(f"--preset takes one preset, or one for each of the {len(suites)} suites, got {preset!r}")
    presets = presets * len(suites) if len(presets) == 1 else presets
    found = {}
    with stopping_on(ValueError):
        for name, of_suite in zip(suites, presets, strict=True):
            chosen = select(cells, [name], [of_suite], datasets=names_in(datasets), methods=names_in(methods))
            select_metrics(chosen, list(pair))
            found[name] = rank_correlation(
                chosen, name, of_suite, (pair[0], pair[1]), methods=names_in(methods) or None
            )
    if not found:
        stop(f"no suite has results of preset {preset!r} with both metrics")
    together = over_suites(found) if len(found) > 1 else found[suites[0]]
    notes = [*together.notes, *notes_on(read, suites, presets, names_in(datasets), names_in(methods))]
    if not together.by_dataset:
        print_notes(notes)
        stop("no data set has enough methods with values of both metrics")
    if format == TableFormat.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["dataset", "tau", "n_methods"])
        writer.writerows([name, one.tau, one.n_methods] for name, one in together.by_dataset.items())
    else:
        _print(found, together, pair)
    print_notes(notes)


def _with_both(cells: "pd.DataFrame", presets: list[str], metrics: tuple[str, ...]) -> list[str]:
    """Return the suites with rows of one of the presets that have all metrics."""
    rows = cells[cells["preset"].isin(presets)]
    both = rows.reindex(columns=[*metrics]).notna().all(axis="columns")
    return sorted(rows.loc[both, "suite"].unique())


def _print(found: "dict[str, RankCorrelation]", together: "RankCorrelation", pair: tuple[str, ...]) -> None:
    if len(found) > 1:
        for name, each in found.items():
            typer.echo(f"{name}. {_in_words(each, pair)}")
    typer.echo(_in_words(together, pair))
    width = max(map(len, together.by_dataset))
    for name, one in together.by_dataset.items():
        typer.echo(f"  {name:{width}}  {one.tau:5.2f}  {one.n_methods} methods")


def _in_words(found: "RankCorrelation", pair: tuple[str, ...]) -> str:
    from lockstep_bench.leaderboards.stats.rank_correlation import interval_over_methods, sentence

    low, high = interval_over_methods(found)
    sample = f" If the methods are a sample too: {low:.2f} to {high:.2f}." if low == low else ""
    return sentence(found, (pair[0], pair[1])) + sample
