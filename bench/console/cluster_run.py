"""Runs on a Dask cluster: check of the options, and connection to the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lockstep_bench.bench.console import display
from lockstep_bench.bench.execution.cluster.connection import Tls, check, connected, unprotected
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.request import InvalidRequest

if TYPE_CHECKING:
    from lockstep_bench.bench.execution.cluster.backend import DaskBackend


def cluster_of(
    address: str | None, tls: Tls, devices: str | None, workers: int | None, timing: bool, longer: int | None
) -> tuple[str, Tls] | None:
    """Return address and certificates of the cluster given by `--cluster`, or None without this option.

    Raises InvalidRequest if other options contradict `--cluster`.
    """
    if address is None:
        if tls.given:
            raise InvalidRequest(f"{next(iter(tls.given))} is for a cluster; name one with --cluster tls://HOST:PORT")
        return None
    for option, value in (("--devices", devices), ("--workers", workers)):
        if value is not None:
            raise InvalidRequest(
                f"{option} {value} works on this machine only, and --cluster {address} has workers "
                "with devices of their own; "
                "leave one of the two out"
            )
    for option, asked in (("--timing", timing), ("--longer", longer)):
        if asked:
            raise InvalidRequest(
                f"{option} works on this machine only; run it without --cluster on the same results folder"
            )
    check(address, tls)
    return address, tls


@contextmanager
def backend_of(elsewhere: tuple[str, Tls] | None, todo: Sequence[Cell], fetch: bool) -> Iterator[DaskBackend | None]:
    """Connect to the cluster `elsewhere`, an address and TLS files, and yield the backend that runs jobs on it.

    If `elsewhere` is None, yield None: jobs then run on this machine. With `fetch`, the cluster's machines download
    missing data sets of the cells `todo`.
    """
    if elsewhere is None:
        yield None
        return
    address, _ = elsewhere
    if unprotected(address):
        display.warn(
            f"--cluster {address} is another machine, without encryption: whoever reaches that port can run anything "
            "there. Use tls:// as in docs/cluster.md, unless you trust everybody in the network"
        )
    with connected(*elsewhere) as client:
        from lockstep_bench.bench.execution.cluster.backend import DaskBackend, needs_of

        backend = DaskBackend(client, needs_of(todo, fetch), display.warn)
        try:
            yield backend
        finally:
            backend.end()
