"""The command-line options of `python run_all.py`, in the groups that `--help` shows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from typer import Argument, Option

from lockstep_bench.shared.options import folder

LARGEST_SEED = 2**63 - 1  # what a column of results holds
MOST_WORKERS, MOST_TIMES = 10_000, 1_000
LONGEST_SECONDS = 10**9  # three decades


@dataclass(frozen=True, kw_only=True)
class What:
    """Command-line options: methods, data sets and splits."""

    title: ClassVar[str] = "What to run"

    suite: Annotated[str, Option(help="Suite to run; --list shows all suites, --list SUITE shows one.")] = "uci"
    methods: Annotated[
        str | None, Option(help="Comma-separated names, or all, or headline (the default): one of each idea.")
    ] = None
    datasets: Annotated[str | None, Option(help="Comma-separated names; by default all of the suite.")] = None
    splits: Annotated[str | None, Option(help="Split numbers, as 0-4,7; by default the preset's.")] = None


@dataclass(frozen=True, kw_only=True)
class OwnTable:
    """Command-line options: a table of the user's own, and how it is read."""

    title: ClassVar[str] = "Your own data"

    csv: Annotated[Path | None, Option(metavar="FILE", help="Run on a table: a .csv, .tsv or .parquet file.")] = None
    target: Annotated[str | None, Option(metavar="COLUMN", help="Column to predict.")] = None
    task: Annotated[str | None, Option(help="regression or classification; by default as the target suggests.")] = None
    decimal: Annotated[
        str | None, Option(metavar="CHARACTER", help="Decimal separator of numbers: . (default) or ,")
    ] = None
    thousands: Annotated[
        str | None, Option(metavar="CHARACTER", help="Separator between thousands; none by default.")
    ] = None
    na_values: Annotated[
        str | None,
        Option(
            metavar="TEXTS",
            help="Comma-separated texts and numbers that stand for missing values, for example -999,unclear.",
        ),
    ] = None
    no_header: Annotated[
        bool, Option("--no-header", help="The file has no line of names; its columns are named 1, 2, 3, ...")
    ] = False
    impute: Annotated[
        str | None, Option(help="median: fill missing numbers with the medians of each fit's training rows.")
    ] = None
    splits_file: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="File with a column for each split that says train or test; by default 20 random splits.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class How:
    """Command-line options: the protocol and changes of it."""

    title: ClassVar[str] = "How"

    preset: Annotated[
        str,
        Option(
            help="paper: the papers' protocol. tuned: one generous budget for all. quick: a page in minutes. "
            "Of the suite papers: names of tables or figures, or all."
        ),
    ] = "quick"
    trials: Annotated[int | None, Option(help="Hyper-parameter settings tried per cell.")] = None
    folds: Annotated[int | None, Option(help="Parts of the cross-validation.")] = None
    epochs: Annotated[int | None, Option(help="Passes over the training rows.")] = None
    budget_seconds: Annotated[
        str | None,
        Option(
            metavar="SECONDS",
            help="Give each method the trials and minibatches that it can do in this time per split; "
            "several times: 1,10,100.",
        ),
    ] = None
    sampler: Annotated[
        str | None, Option(help="Search: random, tpe, gp (Bayesian optimisation), grid, or centre for no tuning.")
    ] = None
    space: Annotated[
        str | None, Option(help="Search ranges: paper for those of each method's paper, wide for the same wide ones.")
    ] = None
    likelihood: Annotated[
        str | None, Option(help="Likelihood of regression: gaussian, heteroscedastic or student-t.")
    ] = None
    hidden: Annotated[str | None, Option(help="Units of each hidden layer, 50,50 for two of 50; by default 50.")] = None
    activation: Annotated[str | None, Option(help="Activation of hidden units: relu, softplus or tanh.")] = None
    network: Annotated[str | None, Option(help="Network for images: lenet5, resnet18, ...")] = None
    settings: Annotated[
        list[str] | None, Option("--set", help="Any other part of the protocol: NAME=VALUE; may be repeated.")
    ] = None
    hparam: Annotated[
        list[str] | None,
        Option(metavar="[METHOD:]NAME=VALUE", help="Fix a hyper-parameter instead of tuning it; may be repeated."),
    ] = None
    method_option: Annotated[
        list[str] | None,
        Option(
            metavar="METHOD:NAME=VALUE",
            help="Change an option of a method, as --methods 'METHOD(NAME=VALUE)' does; may be repeated.",
        ),
    ] = None
    seed: Annotated[int, Option(metavar="NUMBER", help="Seed of all random numbers.", min=0, max=LARGEST_SEED)] = 0


@dataclass(frozen=True, kw_only=True)
class Where:
    """Command-line options: machines and folders."""

    title: ClassVar[str] = "Where"

    devices: Annotated[str | None, Option(help="cpu, cuda, or cuda:0,1; by default cpu.")] = None
    workers: Annotated[
        int | None,
        Option(
            help="Processes on the CPU, or on each GPU; by default as many as cores and memory allow.",
            min=1,
            max=MOST_WORKERS,
        ),
    ] = None
    timeout: Annotated[
        int | None,
        Option(help="Most seconds for a cell, in the first attempt and in the retry.", min=1, max=LONGEST_SECONDS),
    ] = None
    cluster: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Address of a Dask scheduler whose workers do the work: tcp://HOST:PORT or tls://HOST:PORT.",
        ),
    ] = None
    tls_ca_file: Annotated[
        Path | None, Option(help="CA certificate of a tls:// cluster; by default as Dask is configured.")
    ] = None
    tls_cert: Annotated[Path | None, Option(help="Certificate of this client; by default as Dask is configured.")] = (
        None
    )
    tls_key: Annotated[Path | None, Option(help="Key of this client; by default as Dask is configured.")] = None
    out: Annotated[
        Path, Option(metavar="DIR", parser=folder, help="Results folder; running again does what is missing.")
    ] = Path("results")
    data_dir: Annotated[
        Path | None,
        Option(metavar="DIR", parser=folder, help="Data folder; by default $BENCH_DATA_DIR or the user's cache."),
    ] = None
    html: Annotated[
        Path | None, Option(metavar="DIR", parser=folder, help="Folder of the page; by default OUT/html.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Ways:
    """Command-line options: actions instead of a plain run, or besides it."""

    title: ClassVar[str] = "Other ways to go about it"

    listed: Annotated[str | None, Argument(metavar="[SUITE]", help="Suite that --list shows in detail.")] = None
    list_: Annotated[
        bool, Option("--list", help="Show the suites, or presets and data sets of SUITE; run nothing.")
    ] = False
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would run, and for how long; fetch nothing.")] = False
    timing: Annotated[
        bool, Option("--timing", help="After the run, measure times: one cell per method and data set, each alone.")
    ] = False
    longer: Annotated[
        int | None,
        Option(
            metavar="TIMES",
            min=2,
            max=MOST_TIMES,
            help="After the run, train one cell per method and data set TIMES as long, with its hyper-parameters.",
        ),
    ] = None
    fresh: Annotated[bool, Option("--fresh", help="Start over; old results move to OUT/superseded.")] = False
    strict: Annotated[bool, Option("--strict", help="Stop if a data set is not available.")] = False


@dataclass(frozen=True, kw_only=True)
class Options:
    """All options of the command line, in groups."""

    what: What = What()
    own: OwnTable = OwnTable()
    how: How = How()
    where: Where = Where()
    ways: Ways = Ways()
