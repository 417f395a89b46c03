"""Conversion of command-line options to one frozen request, with all checks that need neither data nor methods."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lockstep_bench.bench.console.cluster_run import cluster_of
from lockstep_bench.bench.execution.cluster.connection import Tls
from lockstep_bench.bench.experiment import own_data
from lockstep_bench.bench.experiment.paper_requests import requests_of
from lockstep_bench.bench.experiment.parsing import (
    check_folder,
    parse_budgets,
    parse_devices,
    parse_hparams,
    parse_names,
    parse_settings,
    parse_splits,
)
from lockstep_bench.bench.experiment.plan import HEADLINE
from lockstep_bench.bench.experiment.request import InvalidRequest, Request
from lockstep_bench.datasets import Table
from lockstep_bench.run.options import How, Options, OwnTable, What
from lockstep_bench.shared.papers.entries import SUITE as PAPERS
from lockstep_bench.shared.protocol import Value

# Fields of a protocol that have an option of their own; --set changes any other.
FIELDS = ("trials", "folds", "epochs", "sampler", "space", "likelihood", "hidden", "activation", "network")
# Fields that a budget of seconds decides: whether and how much is tuned, and for how long fits are trained.
DECIDED = {"trials", "sampler", "epochs", "max_minibatches", "max_updates", "budget_seconds"}


@dataclass(frozen=True)
class RunRequest:
    """The user's request: the values of all command-line options after the first checks.

    Attributes:
        requests: What to run: one request, or several if tables or figures of papers are replicated.
        budgets: Time budgets in seconds for each split; empty to use the protocol's numbers of trials and epochs.
        names: Names of the requested data sets; empty for all.
        table: The user's own table, with warnings about it; None without one.
        out, html: Folders of the results and of the result pages.
        data_dir: The data folder; None for the default.
        cluster: Address and certificates of a Dask cluster; None for this machine.
        devices: Torch's names of the devices on this machine.
        workers: Number of processes on each device; None for as many as cores and memory allow.
        timeout: Seconds that a cell may take; None for no limit.
        timing: Whether some cells are run again alone afterwards, to measure their times.
        longer: Factor by which some cells are trained longer afterwards; None for no such training.
        dry_run: Whether the plan is only shown.
        fresh: Whether earlier results are moved to another folder first.
        strict: Whether a data set that is not available is an error.
    """

    requests: tuple[Request, ...]
    budgets: tuple[int, ...]
    names: tuple[str, ...]
    table: tuple[Table, tuple[str, ...]] | None
    out: Path
    html: Path
    data_dir: Path | None
    cluster: tuple[str, Tls] | None
    devices: tuple[str, ...]
    workers: int | None
    timeout: int | None
    timing: bool
    longer: int | None
    dry_run: bool
    fresh: bool
    strict: bool


def request_of(options: Options) -> RunRequest:
    """Return the request that the options make, after checks of each option and for contradictions between them.

    A user's own table is read, and registered as a data set for this process and its workers.

    Raises:
        InvalidRequest: An option has an invalid value, or options contradict each other. Later steps check whether
            suite, data and methods fit together.
    """
    where, ways = options.where, options.ways
    html = where.html or where.out / "html"
    check_folder("--out", where.out, writes=not ways.dry_run)
    check_folder("--html", html, writes=not ways.dry_run)
    tls = Tls(where.tls_ca_file, where.tls_cert, where.tls_key)
    cluster = cluster_of(where.cluster, tls, where.devices, where.workers, ways.timing, ways.longer)
    changes = _changes(options.how)
    budgets = _budgets(options, changes)
    names = parse_names("--datasets", options.what.datasets)
    table = own_data.register(_given(options.own), options.what.suite, names, on_cluster=cluster is not None)
    suite, names = (own_data.SUITE, [table[0].name]) if table else (options.what.suite, names)
    return RunRequest(
        requests=_requests(suite, names, changes, options.what, options.how),
        budgets=budgets,
        names=tuple(names or ()),
        table=table,
        out=where.out,
        html=html,
        data_dir=where.data_dir,
        cluster=cluster,
        devices=tuple(parse_devices(where.devices or "cpu")),
        workers=where.workers,
        timeout=where.timeout,
        timing=ways.timing,
        longer=ways.longer,
        dry_run=ways.dry_run,
        fresh=ways.fresh,
        strict=ways.strict,
    )


def _changes(how: How) -> dict[str, Value]:
    """Return the fields of the protocol that options change."""
    options = asdict(how)
    changes = {name: options[name] for name in FIELDS if options[name] is not None} | parse_hparams(how.hparam or ())
    settings = parse_settings(how.settings or ())
    if twice := changes.keys() & settings.keys():
        option = "hparam" if min(twice) == "hparams" else min(twice)
        raise InvalidRequest(f"--set {min(twice)}=... and --{option} say the same thing; leave one out")
    return changes | settings


def _budgets(options: Options, changes: dict[str, Value]) -> tuple[int, ...]:
    """Return the budgets of seconds; raise InvalidRequest if other options contradict them."""
    if options.how.budget_seconds is None:
        return ()
    if twice := sorted(changes.keys() & DECIDED):
        raise InvalidRequest(f"--budget-seconds decides {twice[0]}; leave one out")
    if options.where.cluster:
        raise InvalidRequest("--budget-seconds measures this machine, and --cluster runs on others; leave one out")
    return parse_budgets(options.how.budget_seconds)


def _given(own: OwnTable) -> own_data.Given:
    return own_data.Given(**asdict(own) | {"no_header": own.no_header or None})


def _requests(
    suite: str, names: Sequence[str] | None, changes: dict[str, Value], what: What, how: How
) -> tuple[Request, ...]:
    methods = HEADLINE if what.methods is None and suite != PAPERS else what.methods
    request = Request(
        suite,
        how.preset,
        parse_names("--methods", methods),
        names,
        None if what.splits is None else parse_splits(what.splits),
        changes,
        how.seed,
        tuple(how.method_option or ()),
    )
    return tuple(requests_of(how.preset, request)) if suite == PAPERS else (request,)
