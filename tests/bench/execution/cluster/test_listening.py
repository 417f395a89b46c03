"""The cluster of the documentation listens on this machine alone."""

import re
import shlex
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from lockstep_bench.bench.console import cluster_run, display
from lockstep_bench.bench.execution.cluster.connection import Tls
from lockstep_bench.bench.experiment.request import InvalidRequest

ROOT = Path(__file__).resolve().parents[4]

pytestmark = pytest.mark.xdist_group("cluster")


def listening(processes):
    """Command and address of every port on which these processes listen."""
    ports = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            open_ports = [port for port in process.net_connections("inet") if port.status == psutil.CONN_LISTEN]
            ports += [(process.cmdline(), port.laddr.ip) for port in open_ports]
    return ports


@pytest.mark.slow
def test_documented_cluster_listens_on_loopback_only(machines):
    text = (ROOT / "docs" / "cluster.md").read_text()
    scheduler, worker, run = (
        shlex.split(re.search(rf"^    ({start} .*127\.0\.0\.1.*)$", text, re.MULTILINE)[1], comments=True)
        for start in ("dask scheduler", "dask worker", "python run_all.py")
    )
    log = machines.dask(*("0" if word == "8786" else word for word in scheduler[1:]))
    address = machines.said(log, "Scheduler at:")
    log = machines.dask(*(word.replace("tcp://127.0.0.1:8786", address) for word in worker[1:]))
    machines.eventually(lambda: log.read_text().count("Registered to:") == 2)
    machines.start_run(*run[2:-1], address, "--methods", "hang-once")
    machines.eventually((machines.folder / "site" / "hung").exists)
    ports = listening(machines.tree())
    assert len(ports) >= 6  # the scheduler's, each worker's and its nanny's, and the dashboards
    assert not [port for port in ports if not ip_address(port[1]).is_loopback]


@pytest.mark.parametrize(
    ("address", "warned"),
    [("tcp://node-1:1", True), ("tls://node-1:1", False), ("tcp://127.0.0.1:1", False), ("tcp://[::1]:1", False)],
)
def test_remote_cluster_without_tls_gives_a_warning(address, warned, monkeypatch):
    def connected(*_):
        raise InvalidRequest("nobody")

    said = []
    monkeypatch.setattr(display, "warn", said.append)
    monkeypatch.setattr(cluster_run, "connected", connected)
    with pytest.raises(InvalidRequest), cluster_run.backend_of((address, Tls()), [], fetch=False):
        pass
    assert ["Use tls://" in line for line in said] == [True] * warned
