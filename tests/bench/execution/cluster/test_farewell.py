"""The end of a run does not wait for a cluster that answers nothing."""

from threading import Event

import pytest

from lockstep_bench.bench.execution.cluster import backend
from lockstep_bench.bench.execution.cluster.backend import DaskBackend, Needs
from lockstep_bench.bench.execution.cluster.members import DaskWorker

MEMBER = DaskWorker("tcp://127.0.0.1:1", "id", "here", None, 1)


class Client:
    """A client with one Dask worker, which answers a farewell once `answers` is set."""

    status = "running"

    def __init__(self):
        self.answers, self.asked = Event(), Event()

    def subscribe_topic(self, topic, handler):
        pass

    def unsubscribe_topic(self, topic):
        pass

    def scheduler_info(self, n_workers):
        return {"workers": {MEMBER.address: {"id": MEMBER.id}}}

    def run(self, function, *arguments, **options):
        self.asked.set()
        self.answers.wait()


@pytest.fixture
def client():
    client = Client()
    yield client
    client.answers.set()


@pytest.fixture
def end(client, monkeypatch):
    """`end()`: end the run of a cluster; what is said."""
    monkeypatch.setattr(backend, "admitted", lambda client, new, needs: ([MEMBER], []))
    monkeypatch.setattr(backend, "FAREWELL_SECONDS", 0.01)

    def end():
        said = []
        team = DaskBackend(client, Needs((), ()), said.append)
        team.end()
        team.end()
        return said

    return end


def test_a_silent_cluster_is_said_and_left(client, end, monkeypatch):
    monkeypatch.setattr(backend, "POLL_SECONDS", 0.01)
    (line,) = end()
    assert "waiting for an answer of the cluster" in line
    assert client.asked.is_set()


def test_a_cluster_that_answers_needs_no_words(client, end):
    client.answers.set()
    assert end() == []
    assert client.asked.is_set()
