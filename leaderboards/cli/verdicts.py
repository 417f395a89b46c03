"""Commands that print rankings, and how often their verdicts are false: `rank`, `simulate`."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.leaderboards.cli import factors
from lockstep_bench.leaderboards.cli.options import (
    Folders,
    TableFormat,
    names_in,
    notes_on,
    one_label,
    only,
    print_notes,
    read_folders,
    stop,
    stopping_on,
)
from lockstep_bench.shared.options import number
from lockstep_bench.shared.texts import visible

if TYPE_CHECKING:
    import pandas as pd

    from lockstep_bench.leaderboards.data.results import Leaderboard
    from lockstep_bench.leaderboards.simulation.residuals import Residuals
    from lockstep_bench.leaderboards.tables.rankings import Rankings, Remarks

DEFAULT_PRESET = "tuned"


def rank(
    results: Folders,
    suite: Annotated[
        str,
        typer.Option(
            "--suite", help="Suite, or several to rank together: A,B. Of sets made from the same rows, one counts."
        ),
    ],
    metric: Annotated[
        str,
        typer.Option(
            "--metric", help="Metric to rank by; by default the leading metric of the suite.", show_default=False
        ),
    ] = "",
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            help="Preset, or preset@hash; by default tuned, or else the only preset with results.",
            show_default=False,
        ),
    ] = "",
    compare: Annotated[
        factors.Factor | None,
        typer.Option(
            "--compare",
            help="Compare the levels of one factor, in rows of the preset and of its variants that differ only in "
            "network and noise. Used are the splits, and combinations of the other two factors, that all levels have.",
        ),
    ] = None,
    network: Annotated[str, only("--network", "networks, with --compare: 50,16-16")] = "",
    noise: Annotated[str, only("--noise", "models of the noise, with --compare: constant,predicted")] = "",
    families: Annotated[
        bool,
        typer.Option(
            "--families/--variants", help="One method of each family, chosen by validation score, or all variants."
        ),
    ] = True,
    methods: Annotated[str, only("--methods", "methods, whatever their families")] = "",
    datasets: Annotated[str, only("--datasets", "data sets; one is ranked by its splits")] = "",
    reference: Annotated[
        str,
        typer.Option(
            "--reference",
            help="Method (or level of the compared factor) that differences refer to; by default map, 50 or constant.",
            show_default=False,
        ),
    ] = "",
    each: Annotated[bool, typer.Option("--each", help="Rank the methods on each data set separately.")] = False,
    power: Annotated[
        bool,
        typer.Option(
            "--power",
            help="Add all columns on power: differences that would be detected with 80 % probability, and how many "
            "data sets or splits would decide the undecided comparisons.",
        ),
    ] = False,
    wide: Annotated[bool, typer.Option("--wide", help="Print all columns, in lines of up to 250 characters.")] = False,
    format: Annotated[TableFormat, typer.Option("--format", help="Format of the table.")] = TableFormat.TEXT,
) -> None:
    """Rank methods by one metric, with verdicts that are false in at most 5 % of leaderboards (--each: of data sets).

    A sentence is followed by six columns: mean rank over data sets, ranks left open (the 95 % confidence set of the
    rank), difference to the reference with its 95 % interval, and verdict. Verdicts: best (all others are worse), could
    be best (better than another, no method is better), worse (than another), undecided (neither), failed (no value on
    some split). docs/statistics.md says how they are found.
    """
    from lockstep_bench.leaderboards.metrics import MEASURED
    from lockstep_bench.leaderboards.metrics import metric as metric_named
    from lockstep_bench.leaderboards.stats.comparable import REFERENCE, ComparisonOptions
    from lockstep_bench.leaderboards.stats.ranking import rank as ranked
    from lockstep_bench.leaderboards.stats.ranking import rank_on_datasets
    from lockstep_bench.leaderboards.stats.remarks import over_datasets
    from lockstep_bench.leaderboards.stats.summary import summarise, with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, require, select, select_metrics

    names, sets, levels = names_in(methods), names_in(datasets), (names_in(network), names_in(noise))
    if compare is None and any(levels):
        stop("--network and --noise choose what --compare compares in; add --compare posterior, noise or network")
    if compare is not None and not families:
        stop("--variants does not go with --compare; name the methods with --methods")
    suites = names_in(suite)
    read = read_folders(results)
    preset, assumed = (preset, []) if preset else _only_preset(read, suites)
    of_suites, suite, left_out = _joined(read.cells, suites, preset)
    metric, left_out = metric or _leading_metric(of_suites, suite, sets), [*assumed, *left_out]
    mixed = notes_on(read, suites, [preset], sets, names and [*names, reference or REFERENCE])
    if compare is not None:
        asked = factors.Asked(suite, preset, metric, compare, (names, *levels), sets, reference, each)
        found, notes = factors.compared(of_suites, asked)
        _print(found, {}, [*left_out, *notes, *mixed], metric, format, wide, power)
        return
    reference = reference or REFERENCE
    with stopping_on(NoSuchResults):
        cells = select(with_labelled_presets(of_suites), [suite], [preset], sets)
        require("method", [*names, *([] if reference == REFERENCE else [reference])], set(cells["method"]))
        select_metrics(cells, [metric])
    if metric_named(metric).goal is None:
        stop(f"metric '{metric}' has no direction in which it is better; choose another one")
    where = cells, suite, one_label(cells, preset), metric
    options = ComparisonOptions(methods=names, datasets=sets, families=families, reference=reference)
    found = rank_on_datasets(*where, **options) if each else {"": ranked(*where, **options)}
    notes = [*left_out, *_merged(note for ranking in found.values() for note in ranking.notes), *mixed]
    if not any(ranking.rows for ranking in found.values()):
        print_notes(notes)
        lacking = f"no split has a value of {metric} for all of {', '.join(names)}"
        stop(
            f"no method to rank: {lacking}; name fewer, or choose another metric"
            if len(names) > 1
            else "no method to rank: `constant` competes only where --methods names it, and failures have no rank"
        )
    others = [name for name in MEASURED if name != metric and name in cells]
    summary = summarise(cells.drop(columns=others))
    said = {
        (name, method): words
        for name, ranking in found.items()
        for method, words in over_datasets(summary, metric, ranking.datasets).items()
    }
    _print(found, said, notes, metric, format, wide, power)


def _only_preset(read: "Leaderboard", suites: list[str]) -> tuple[str, list[str]]:
    """Return the preset to rank if the user names none, and a note if it is not `tuned`; stop if there are several."""
    from lockstep_bench.leaderboards.data.replicated import set_apart
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, require

    with stopping_on(NoSuchResults):
        require("suite", suites, set(read.cells["suite"]))
    own, every = (set(one["preset"][one["suite"].isin(suites)]) for one in (set_apart(read).others.cells, read.cells))
    presets = sorted(own or every)
    if DEFAULT_PRESET in presets:
        return DEFAULT_PRESET, []
    if len(presets) > 1:
        stop(f"several presets have results here; give one of them with --preset: {', '.join(presets)}")
    return presets[0], [visible(f"Ranked: the preset {presets[0]}, the only one with results.")]


def _leading_metric(cells: "pd.DataFrame", suite: str, datasets: list[str]) -> str:
    """Return the metric that leads on most data sets of a suite, or of those named, as on the suite's page."""
    from lockstep_bench.leaderboards.metrics import MEASURED, lead

    rows = cells[(cells["suite"] == suite) & (cells["dataset"].isin(datasets) | (not datasets))]
    measured = [name for name in MEASURED if name in rows]
    leads = [lead(has.index[has]) for _, has in rows[measured].notna().groupby(rows["dataset"]).any().iterrows()]
    return max(dict.fromkeys(leads), key=leads.count, default="nmll")


def _joined(cells: "pd.DataFrame", suites: list[str], preset: str) -> "tuple[pd.DataFrame, str, list[str]]":
    """Return results of several suites as those of one, its name, and notes; exit with code 2 if a suite has none."""
    from lockstep_bench.leaderboards.stats.suites import as_one
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, require, select

    with stopping_on(NoSuchResults):
        require("suite", suites, set(cells["suite"]))
    joined = as_one(cells, suites)
    if len(suites) > 1:
        together = cells[cells["suite"].isin(suites)]
        labels = with_labelled_presets(together.assign(suite=joined[1]))["preset"]
        with stopping_on(NoSuchResults):
            for suite in suites:
                select(together.assign(preset=labels), [suite], [preset])
    return joined


def _print(
    found: "Rankings", said: "Remarks", notes: list[str], metric: str, format: TableFormat, wide: bool, power: bool
) -> None:
    """Print rankings on standard output, and then the notes on what was left out on standard error."""
    from lockstep_bench.leaderboards.metrics import metric as metric_named
    from lockstep_bench.leaderboards.tables import rankings

    if format is TableFormat.CSV:
        text = rankings.as_csv(found, said, power)
    elif wide or power:
        text = rankings.as_wide_text(found, said, power)
    else:
        text = rankings.as_text(found, said, metric_named(metric).phrase)
    typer.echo(text.removesuffix("\n"))
    print_notes(notes)


def _merged(notes: Iterable[str]) -> list[str]:
    """Return the notes, of which those that differ only in the names at their end are one: "Untested: a, b."."""
    names: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        start, _, name = note.partition(": ")
        if re.fullmatch(r"\S+\.", name):
            names.setdefault(start, []).append(name[:-1])
        else:
            names[note] = []
    return [f"{start}: {', '.join(some)}." if some else start for start, some in names.items()]


def simulate(
    methods: Annotated[
        int, typer.Option("--methods", min=2, max=1000, help="Number of methods of a leaderboard.")
    ] = 18,
    datasets: Annotated[
        int, typer.Option("--datasets", min=2, max=1000, help="Number of data sets of a leaderboard.")
    ] = 9,
    splits: Annotated[int, typer.Option("--splits", min=2, max=1000, help="Number of splits of each data set.")] = 20,
    overlap: Annotated[
        float,
        typer.Option(
            "--overlap", callback=number, min=0.05, max=0.95, help="Share of the rows that a split trains on."
        ),
    ] = 0.9,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Number of leaderboards for each scenario.")] = 1000,
    gap: Annotated[
        float,
        typer.Option(
            "--gap", callback=number, min=0, help="How much better the best method is, in split standard deviations."
        ),
    ] = 1.5,
    effect: Annotated[
        float,
        typer.Option(
            "--effect", callback=number, min=0, help="Method x data set interaction, in split standard deviations."
        ),
    ] = 0.3,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the draws.")] = 0,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Results folder; a last row is drawn from the residuals of its rows."),
    ] = None,
    suite: Annotated[str, typer.Option("--suite", help="Suite of these rows, or several, A,B.")] = "uci",
    preset: Annotated[str, typer.Option("--preset", help="Preset of these rows, or preset@hash.")] = "tuned",
    metric: Annotated[str, typer.Option("--metric", help="Metric whose residuals are drawn.")] = "nmll",
) -> None:
    """Draw leaderboards of known true ranking; print how often verdicts are false and intervals cover, in per cent.

    The methods are regressions that are really fitted, on overlapping parts of finite data sets. A verdict is false if
    it contradicts the expected losses. docs/statistics.md explains the scenarios.
    """
    from lockstep_bench.leaderboards.simulation.drawing import BoardSize
    from lockstep_bench.leaderboards.simulation.promises import promises, promises_on_residuals, scenarios
    from lockstep_bench.leaderboards.simulation.report import heading, line

    observed, notes = (None, []) if results is None else _residuals_of(results, names_in(suite), preset, metric)
    size = BoardSize(methods, datasets, splits, overlap)
    typer.echo(heading())
    for scenario in scenarios(gap, effect):
        typer.echo(line(promises(scenario, size, repeats, seed)))
    if observed is not None:
        typer.echo(line(promises_on_residuals(observed, repeats, seed)))
    print_notes(notes)


def _residuals_of(results: Path, suites: list[str], preset: str, metric: str) -> "tuple[Residuals, list[str]]":
    """Return the residuals of kept rows, and the notes on these rows; stop if there are too few."""
    from lockstep_bench.leaderboards.simulation.residuals import residuals
    from lockstep_bench.leaderboards.stats.summary import with_labelled_presets
    from lockstep_bench.leaderboards.tables.selection import NoSuchResults, select, select_metrics

    read = read_folders([results])
    of_suites, suite, _ = _joined(read.cells, suites, preset)
    with stopping_on(NoSuchResults):
        cells = select(with_labelled_presets(of_suites), [suite], [preset])
        select_metrics(cells, [metric])
    observed = residuals(cells, suite, preset, metric)
    if min(observed.of_datasets.shape) < 2:
        stop(f"{results}: residuals need two methods without a failure on two data sets; choose another suite")
    return observed, notes_on(read, suites, [preset])
