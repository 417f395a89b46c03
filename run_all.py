"""The front door: `python run_all.py --suite uci` plans, runs what is missing, and builds the leaderboard."""

from pathlib import Path
from typing import Annotated

import typer

from bench import console
from bench.plan import (
    Refused,
    Request,
    broken_datasets,
    cells,
    chosen_datasets,
    chosen_methods,
    chosen_splits,
    excluded,
    have,
    outsiders,
    parse_devices,
    parse_settings,
    parse_splits,
    protocol_of,
    runnable,
)

INTERRUPTED = 130
WHAT, HOW, WHERE, OTHERWISE = "What to run", "How", "Where", "Other ways to go about it"

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _names(option: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise Refused(f"{option} names nothing; leave it out to have all")
    return names


@app.command()
def main(
    suite: Annotated[str, typer.Option(help="What to run; --list shows all suites.", rich_help_panel=WHAT)] = "uci",
    methods: Annotated[
        str | None, typer.Option(help="Comma-separated names; all by default.", rich_help_panel=WHAT)
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Comma-separated names; all of the suite by default.", rich_help_panel=WHAT)
    ] = None,
    splits: Annotated[
        str | None, typer.Option(help="For example 0-4,7; by default the preset's.", rich_help_panel=WHAT)
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="paper: the papers' protocol. tuned: one generous budget for all. quick: a page in minutes.",
            rich_help_panel=HOW,
        ),
    ] = "quick",
    trials: Annotated[
        int | None, typer.Option(help="Hyper-parameter settings tried per cell.", rich_help_panel=HOW)
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Parts of the cross-validation.", rich_help_panel=HOW)] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training rows.", rich_help_panel=HOW)] = None,
    sampler: Annotated[
        str | None, typer.Option(help="random, tpe, or centre for no tuning.", rich_help_panel=HOW)
    ] = None,
    space: Annotated[
        str | None, typer.Option(help="paper: each paper's ranges. wide: the same wide ones.", rich_help_panel=HOW)
    ] = None,
    likelihood: Annotated[
        str | None, typer.Option(help="Of regression: gaussian or heteroscedastic.", rich_help_panel=HOW)
    ] = None,
    network: Annotated[str | None, typer.Option(help="Of images: lenet5, resnet18, ...", rich_help_panel=HOW)] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other part of the protocol: NAME=VALUE, again and again.", rich_help_panel=HOW),
    ] = None,
    seed: Annotated[int, typer.Option(help="Every random number follows from it.", min=0, rich_help_panel=HOW)] = 0,
    devices: Annotated[str, typer.Option(help="cpu, cuda, or cuda:0,1.", rich_help_panel=WHERE)] = "cpu",
    workers: Annotated[
        int | None, typer.Option(help="Processes; by default one per core or GPU.", min=1, rich_help_panel=WHERE)
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Results folder; running again does what is missing.", rich_help_panel=WHERE)
    ] = Path("results"),
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Data folder; by default $BENCH_DATA_DIR or the user's cache.", rich_help_panel=WHERE),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Where the page goes; by default OUT/html.", rich_help_panel=WHERE)
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Show what there is; run nothing.", rich_help_panel=OTHERWISE)
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run; run and fetch nothing.", rich_help_panel=OTHERWISE)
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over; old results move to OUT/superseded.", rich_help_panel=OTHERWISE)
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A data set that cannot be had is an error.", rich_help_panel=OTHERWISE)
    ] = False,
) -> None:
    """Compare approximate-inference methods for neural networks, and build a leaderboard."""
    if list_:
        console.show_lists(data_dir)
        return
    try:
        said = {
            "trials": trials,
            "folds": folds,
            "epochs": epochs,
            "sampler": sampler,
            "space": space,
            "likelihood": likelihood,
            "network": network,
        }
        changes = {name: value for name, value in said.items() if value is not None}
        others = parse_settings(settings or ())
        if twice := changes.keys() & others.keys():
            raise Refused(f"--set {min(twice)}=... and --{min(twice)} say the same thing; leave one out")
        numbers = None if splits is None else parse_splits(splits)
        named = _names("--methods", methods), _names("--datasets", datasets)
        request = Request(suite, preset, *named, numbers, changes | others, seed)
        protocol_of(request)
        usable, broken = chosen_methods(request)
        slots = parse_devices(devices)
        chosen = chosen_splits(request, chosen_datasets(request))
        here, missing = have(tuple(chosen), data_dir, fetch=not dry_run)
        here, lacking = runnable(request, here, data_dir, fetch=not dry_run)
        _, without_ood = have(outsiders(here), data_dir, fetch=not dry_run)
        missing += lacking + without_ood + broken_datasets()
        console.show_missing(missing)
        console.show_broken(broken)
        if missing and strict:
            raise Refused(f"--strict: {len(missing)} data set(s) cannot be had")
        without = excluded(request, here, usable)
        wanted = cells(request, {name: chosen[name] for name in here}, usable, without)
    except Refused as refusal:
        console.show_refusal(str(refusal))
        raise typer.Exit(2) from None

    from bench.results import Results

    results = Results(out)
    if fresh and not dry_run and (aside := results.put_aside()):
        console.say(f"Old results moved to {aside}")
    if not dry_run:
        for path in results.put_aside_unreadable(wanted):
            console.say(f"{path} is no result file; its cell runs again")
    todo = wanted if fresh else [cell for cell in wanted if not results.has(cell)]
    n_workers = workers or console.default_workers(slots)
    console.show_plan(protocol_of(request), wanted, todo, slots, n_workers)
    console.show_excluded(without)
    if dry_run:
        return
    results.note_missing(missing)

    interrupted = console.run(results, todo, data_dir, slots, n_workers)
    import leaderboards

    page = leaderboards.build(out, html or out / "html")
    console.show_outcome(leaderboards.export(out), wanted, results, missing, page)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(status != "ok" for status in results.statuses(wanted).values()):
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
