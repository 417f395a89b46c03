"""Requests that run the replications of papers' tables and figures."""

from collections.abc import Sequence

from lockstep_bench.bench.experiment.parsing import parse_hparams, parse_splits
from lockstep_bench.bench.experiment.request import InvalidRequest, Request, known
from lockstep_bench.shared.papers.entries import SUITE, Entry, Run, entries

ALL = "all"


def requests_of(preset: str, narrowed: Request) -> list[Request]:
    """Return the requests to run for `--suite papers --preset NAMES`.

    An entry is a table or figure of a paper (`shared.papers.entries`).

    Args:
        preset: Names of entries, separated by commas, or "all" for every entry that two cores can run.
        narrowed: Request with the other options; its methods, data sets and splits restrict the entries.

    Raises:
        InvalidRequest: an entry is unknown, the restrictions leave nothing to run, or options change the protocol.
    """
    if narrowed.changes or narrowed.options:
        asked = ", ".join([*narrowed.changes, *narrowed.options])
        raise InvalidRequest(
            f"{asked}: the protocols of the suite {SUITE} are those of the papers. To change one, run the suite that "
            "the plan of the entry names (--dry-run shows it)"
        )
    requests = [
        request
        for name in dict.fromkeys(entry.rows for entry in _chosen(preset))
        for run in _entry(name).runs
        if (request := _request(name, run, narrowed))
    ]
    if not requests:
        raise InvalidRequest(f"nothing of {preset} is left with these --methods and --datasets")
    return requests


def _chosen(preset: str) -> list[Entry]:
    if preset == ALL:
        return [entry for entry in entries() if not (entry.unavailable or entry.test)]
    names = tuple(entry.name for entry in entries())
    chosen = [_entry(known("table or figure", name.strip(), (*names, ALL))) for name in preset.split(",")]
    for entry in chosen:
        if entry.test:
            raise InvalidRequest(f"{entry.name} is a test: {entry.command}")
        if not entry.runs and not entry.same_rows_as:
            raise InvalidRequest(f"{entry.name} cannot be run: {entry.unavailable}")
    return chosen


def _entry(name: str) -> Entry:
    return next(entry for entry in entries() if entry.name == name)


def _request(name: str, run: Run, narrowed: Request) -> Request | None:
    """Return the request of a run, or None if `narrowed` leaves nothing of it."""
    methods = _kept(run.methods, narrowed.methods)
    datasets = _kept(run.datasets, narrowed.datasets)
    if not methods or not datasets:
        return None
    splits = parse_splits(run.splits) if run.splits else None
    if narrowed.splits is not None:
        splits = [split for split in narrowed.splits if splits is None or split in splits]
    return Request(
        suite=run.suite,
        preset=run.preset,
        methods=methods,
        datasets=datasets,
        splits=splits,
        changes={**run.settings, **parse_hparams(run.hparams)},
        seed=narrowed.seed,
        replication=name,
    )


def _kept(names: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    return [name for name in names if wanted is None or name in wanted]
