"""The command `python run_all.py --suite uci` plans, runs what is missing, and builds the leaderboard."""

import gc
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from lockstep_bench.bench.door import Door
from lockstep_bench.bench.console import display
from lockstep_bench.bench.console.elsewhere import backend_of, cluster_of
from lockstep_bench.bench.console.endings import INTERRUPTED, INVALID, NOT_OK, ended
from lockstep_bench.bench.execution import spare
from lockstep_bench.bench.execution.cluster.connection import Tls
from lockstep_bench.bench.execution.workers import workers_on
from lockstep_bench.bench.experiment import own_data
from lockstep_bench.bench.experiment.available import check_data_folder
from lockstep_bench.bench.experiment.parsing import (
    check_folder,
    parse_devices,
    parse_hparams,
    parse_names,
    parse_settings,
    parse_splits,
)
from lockstep_bench.bench.experiment.plan import HEADLINE
from lockstep_bench.bench.experiment.request import InvalidRequest, Request
from lockstep_bench.bench.experiment.resolved import resolve
from lockstep_bench.bench.replications.entries import SUITE as PAPERS
from lockstep_bench.bench.replications.requests import requests_of
from lockstep_bench.datasets.options import folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep_bench.bench.experiment.cells import Cell
    from lockstep_bench.bench.results.folder import Results
    from lockstep_bench.leaderboards.data.longer import LongerTraining

WHAT, HOW, WHERE, OTHERWISE = "What to run", "How", "Where", "Other ways to go about it"
OWN = "Your own data"

LARGEST_SEED = 2**63 - 1  # what a column of results holds
MOST_WORKERS, MOST_TIMES = 10_000, 1_000
LONGEST_SECONDS = 10**9  # three decades
MANY_OBJECTS = 50_000  # between searches for cycles; a plan has a cell for each result, and no cycles

app = Door(
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
@ended
def main(
    suite: Annotated[str, typer.Option(help="What to run; --list shows all suites.", rich_help_panel=WHAT)] = "uci",
    methods: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated names; headline, the default, is one of each idea; all.", rich_help_panel=WHAT
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Comma-separated names; all of the suite by default.", rich_help_panel=WHAT)
    ] = None,
    splits: Annotated[
        str | None, typer.Option(help="For example 0-4,7; by default the preset's.", rich_help_panel=WHAT)
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Run on a table: a .csv, .tsv or .parquet file.", rich_help_panel=OWN),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Its column to predict.", rich_help_panel=OWN)
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="regression or classification; by default as the target suggests.", rich_help_panel=OWN),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER", help="Decimal separator, where texts leave it open: . or ,", rich_help_panel=OWN
        ),
    ] = None,
    thousands: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER", help="Separator between thousands, where texts leave it open.", rich_help_panel=OWN
        ),
    ] = None,
    na_values: Annotated[
        str | None,
        typer.Option(
            metavar="TEXTS",
            help="Comma-separated texts and numbers that stand for missing values, for example -999,unclear.",
            rich_help_panel=OWN,
        ),
    ] = None,
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="Its first line is a row; columns are 1, 2, 3, ...", rich_help_panel=OWN),
    ] = False,
    impute: Annotated[
        str | None,
        typer.Option(
            help="median: fill missing numbers with the medians of each fit's training rows.", rich_help_panel=OWN
        ),
    ] = None,
    splits_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table with a column of train and test for each split; by default 20 random splits.",
            rich_help_panel=OWN,
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="paper: the papers' protocol. tuned: one generous budget for all. quick: a page in minutes. "
            "Of the suite papers: names of tables or figures, or all.",
            rich_help_panel=HOW,
        ),
    ] = "quick",
    trials: Annotated[
        int | None, typer.Option(help="Hyper-parameter settings tried per cell.", rich_help_panel=HOW)
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Parts of the cross-validation.", rich_help_panel=HOW)] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training rows.", rich_help_panel=HOW)] = None,
    sampler: Annotated[
        str | None,
        typer.Option(
            help="random, tpe, gp (Bayesian optimisation), grid, or centre for no tuning.", rich_help_panel=HOW
        ),
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="paper: each paper's ranges. wide: the same wide ones.", rich_help_panel=HOW)
    ] = None,
    likelihood: Annotated[
        str | None, typer.Option(help="Likelihood of regression: gaussian or heteroscedastic.", rich_help_panel=HOW)
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(help="Units of each hidden layer, 50,50 for two of 50; by default 50.", rich_help_panel=HOW),
    ] = None,
    activation: Annotated[
        str | None, typer.Option(help="Activation of hidden units: relu, softplus or tanh.", rich_help_panel=HOW)
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Network for images: lenet5, resnet18, ...", rich_help_panel=HOW)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other part of the protocol: NAME=VALUE; may be repeated.", rich_help_panel=HOW),
    ] = None,
    hparam: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[METHOD:]NAME=VALUE",
            help="Fix a hyper-parameter instead of tuning it; may be repeated.",
            rich_help_panel=HOW,
        ),
    ] = None,
    method_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD:NAME=VALUE",
            help="Change an option of a method, as --methods 'METHOD(NAME=VALUE)' does; may be repeated.",
            rich_help_panel=HOW,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Every random number follows from it.", min=0, max=LARGEST_SEED, rich_help_panel=HOW)
    ] = 0,
    devices: Annotated[
        str | None, typer.Option(help="cpu, cuda, or cuda:0,1; by default cpu.", rich_help_panel=WHERE)
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes on the CPU, or on each GPU; by default as many as cores and memory allow.",
            min=1,
            max=MOST_WORKERS,
            rich_help_panel=WHERE,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="Seconds that a cell may take, at first and when it is retried.",
            min=1,
            max=LONGEST_SECONDS,
            rich_help_panel=WHERE,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of a Dask scheduler whose workers do the work: tcp://HOST:PORT or tls://HOST:PORT.",
            rich_help_panel=WHERE,
        ),
    ] = None,
    tls_ca_file: Annotated[
        Path | None,
        typer.Option(
            help="CA certificate of a tls:// cluster; by default as Dask is configured.", rich_help_panel=WHERE
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="This client's certificate, likewise.", rich_help_panel=WHERE)
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="Key of that certificate, likewise.", rich_help_panel=WHERE)
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=folder,
            help="Results folder; running again does what is missing.",
            rich_help_panel=WHERE,
        ),
    ] = Path("results"),
    data_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder,
            help="Data folder; by default $BENCH_DATA_DIR or the user's cache.",
            rich_help_panel=WHERE,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", parser=folder, help="Folder of the page; by default OUT/html.", rich_help_panel=WHERE
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Show what there is; run nothing.", rich_help_panel=OTHERWISE)
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what would run, and for how long; fetch nothing.", rich_help_panel=OTHERWISE
        ),
    ] = False,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing", help="Then repeat one cell of each method and data set alone.", rich_help_panel=OTHERWISE
        ),
    ] = False,
    longer: Annotated[
        int | None,
        typer.Option(
            metavar="TIMES",
            min=2,
            max=MOST_TIMES,
            help="Then train one cell of each method and data set, with its hyper-parameters, for TIMES as long.",
            rich_help_panel=OTHERWISE,
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over; old results move to OUT/superseded.", rich_help_panel=OTHERWISE)
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop if a data set is not available.", rich_help_panel=OTHERWISE)
    ] = False,
) -> None:
    """Compare approximate-inference methods for neural networks, and build a leaderboard."""
    if list_:
        check_data_folder(data_dir)
        display.show_lists(data_dir)
        return
    check_folder("--out", out, writes=not dry_run)
    check_folder("--html", html or out / "html", writes=not dry_run)
    elsewhere = cluster_of(cluster, Tls(tls_ca_file, tls_cert, tls_key), devices, workers, timing, longer)
    display.show_start()
    options = {
        "trials": trials,
        "folds": folds,
        "epochs": epochs,
        "sampler": sampler,
        "space": space,
        "likelihood": likelihood,
        "hidden": hidden,
        "activation": activation,
        "network": network,
    }
    changes = {name: value for name, value in options.items() if value is not None}
    changes |= parse_hparams(hparam or ())
    set_fields = parse_settings(settings or ())
    if twice := changes.keys() & set_fields.keys():
        option = "hparam" if min(twice) == "hparams" else min(twice)
        raise InvalidRequest(f"--set {min(twice)}=... and --{option} say the same thing; leave one out")
    numbers = None if splits is None else parse_splits(splits)
    names = parse_names("--datasets", datasets)
    layout = decimal, thousands, na_values, no_header or None
    given = own_data.Given(csv, target, task, *layout, impute, splits_file)
    if own := own_data.register(given, suite, names, on_cluster=elsewhere is not None):
        suite, names = own_data.SUITE, [own[0].name]
        display.show_table(*own)
    if methods is None and suite != PAPERS:
        methods = HEADLINE
    named = parse_names("--methods", methods), names
    request = Request(suite, preset, *named, numbers, changes | set_fields, seed, tuple(method_option or ()))
    requests = requests_of(preset, request) if suite == PAPERS else [request]
    gc.set_threshold(MANY_OBJECTS)
    places = parse_devices(devices or "cpu")
    if not dry_run and elsewhere is None and places == ["cpu"]:
        spare.start(workers_on(places, 1)[0].environment)
    resolved = resolve(requests, data_dir, fetch=not dry_run)
    wanted, missing = resolved.cells, resolved.missing
    display.show_missing(missing)
    display.show_broken(resolved.broken)
    if missing and strict:
        raise InvalidRequest(f"--strict: {len(missing)} data set(s) are not available; see the remedies above")

    from lockstep_bench import leaderboards
    from lockstep_bench.bench.console import forecast, passes
    from lockstep_bench.bench.console.live_page import live_pages
    from lockstep_bench.bench.console.outcome import show_outcome
    from lockstep_bench.bench.costs.workload import surroundings, workload, workload_elsewhere
    from lockstep_bench.bench.experiment.flagged import notes_on_flagged
    from lockstep_bench.bench.experiment.noise_ranges import notes_on_noise_ranges
    from lockstep_bench.bench.native.libraries import obstacle
    from lockstep_bench.bench.results.earlier import notes_on_earlier_rows
    from lockstep_bench.bench.results.folder import Results
    from lockstep_bench.bench.results.lock import locked

    results = Results(out)
    results.require_plain()
    with nullcontext() if dry_run else locked(out):
        if not fresh:
            results.require_readable()
        if not (dry_run or fresh):
            display.show_invalid(results.mend())
            display.show_passed_over(results.passed_over)
        if not fresh:
            display.show_notes(notes_on_earlier_rows(results.rows(), wanted, data_dir))
        display.show_notes(notes_on_noise_ranges(wanted, data_dir))
        display.show_notes(notes_on_flagged(wanted))
        todo = wanted if fresh else [cell for cell in wanted if not results.has(cell)]
        if not fresh:
            results.require_place(todo)
        if not todo:
            spare.end()
        with backend_of(elsewhere if todo else None, todo, fetch=not dry_run) as backend:
            if backend:
                load = workload_elsewhere(todo, backend.workers)
            else:
                around, measure = surroundings(places), None  # a CPU's work begins at once
                if dry_run:
                    measure = forecast.measuring(display.err, data_dir, forecast.PATIENCE_SECONDS)
                elif around.kind == "cuda":
                    measure = forecast.measuring(display.err, data_dir)  # a GPU's memory does not stretch
                load = workload(todo, around, results.rows(), each=workers, measure=measure)
            display.show_plan(wanted, todo, load.workers)
            display.show_excluded(resolved.without)
            display.show_given(resolved.given)
            if dry_run:
                forecast.show(display.out, load)
                if longer:
                    from lockstep_bench.bench.execution.longer import planned

                    display.show_longer(planned(results, wanted, longer), longer)
                return
            if fresh and (aside := results.put_aside()):  # not before a cluster can be had
                display.say(f"Old results moved to {aside}")
            results.note_missing(missing)
            if own:
                results.note_table(own[0])

            if todo and places == ["cpu"] and not backend and (reason := obstacle()):
                display.show_not_native(reason)
            where = backend or load.workers
            jobs = load.jobs(results.journal, data_dir)
            interrupted = False
            if todo:
                build = partial(leaderboards.build, out, html or out / "html")
                Thread(target=leaderboards.prepare, daemon=True).start()
                with live_pages(results, leaderboards.prepare, build, len(wanted) - len(todo), len(wanted)) as store:
                    interrupted = passes.run_cells(store, jobs, where, load.weights, timeout)
        same = True
        if timing and not interrupted:
            interrupted, same = passes.time_cells(results, wanted, around, data_dir, timeout)
        if longer and not interrupted:
            interrupted, failed = passes.train_longer(results, wanted, longer, around, workers, data_dir, timeout)
            display.show_gains(_gains(results, wanted, longer), failed)
            same = same and not failed
        from lockstep_bench.leaderboards.stats.remarks import SIGNS

        page = leaderboards.build(out, html or out / "html")
        show_outcome(leaderboards.export(out), wanted, results, missing, page, SIGNS)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if asked_for := sorted({each.dataset for each in missing} & set(named[1] or ())):
        display.show_error(f"{', '.join(asked_for)}: asked for, but not available; see the remedies above")
        raise typer.Exit(INVALID)
    statuses = results.statuses(wanted)
    if not same or len(statuses) < len(set(wanted)) or any(status != "ok" for status in statuses.values()):
        raise typer.Exit(NOT_OK)


def _gains(results: "Results", wanted: "Sequence[Cell]", factor: int) -> "list[LongerTraining]":
    """Return the longer trainings of wanted cells that a results folder has."""
    from lockstep_bench.bench.execution.longer import sampled
    from lockstep_bench.bench.results.reader import read_longer
    from lockstep_bench.leaderboards.data.longer import longer_trainings

    keys = {cell.key for cell in sampled(results, wanted)}
    every = longer_trainings(read_longer(results.out).table.to_pandas())
    return [pair for pair in every if pair.key in keys and pair.factor == factor]
