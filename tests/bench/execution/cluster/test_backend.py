"""Workers of a large cluster, with a client that is made up."""

from types import SimpleNamespace

import pytest

from lockstep_bench.bench.execution.cluster import backend
from lockstep_bench.bench.execution.cluster.backend import LEAST_JOBS, DaskBackend
from lockstep_bench.bench.execution.cluster.members import DaskWorker


class Client(SimpleNamespace):
    """Offers one Dask worker with as many threads as there are workers."""

    status = "running"

    def scheduler_info(self, n_workers: int) -> dict:
        return {"workers": {"tcp://10.0.0.1:1": {"id": "first"}}}

    def subscribe_topic(self, topic, handler) -> None:
        """Subscribe to a topic on which nothing is sent."""


@pytest.fixture
def cluster_of(monkeypatch):
    """Function that makes a cluster with `n_workers` workers."""

    def make(n_workers: int) -> DaskBackend:
        member = DaskWorker("tcp://10.0.0.1:1", "first", "one", None, n_workers)
        monkeypatch.setattr(backend, "admitted", lambda client, new, needs: ([member], []))
        return DaskBackend(Client(), None, print)

    return make


@pytest.mark.parametrize(("n_workers", "fewest"), [(2, LEAST_JOBS), (400, 400), (3000, 3000)])
def test_cluster_runs_at_least_one_job_per_worker(cluster_of, n_workers, fewest):
    cluster = cluster_of(n_workers)
    try:
        assert len(cluster.workers) == n_workers
        assert cluster.max_jobs >= fewest
    finally:
        cluster.end()
