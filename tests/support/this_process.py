"""Jobs in the process of the tests, for tests whose claim is not about processes: a worker's imports take seconds."""

import os
import pickle
from threading import Lock

import pytest

from lockstep_bench.bench.execution import spare_process


class ThisProcess:
    """Stands for `Supervised`: makes its calls here, one at a time, and pickles what passes between processes."""

    alive = True
    _turn = Lock()

    def __init__(self, environment, imported=()):
        self.pid = os.getpid()

    def call(self, function, *arguments, limit=None, on_progress=lambda progress: None):
        with self._turn:
            function, arguments = pickle.loads(pickle.dumps((function, arguments)))
            return pickle.loads(pickle.dumps(function(*arguments, on_progress=on_progress)))

    def log(self):
        return ""

    def end(self):
        pass


@pytest.fixture
def jobs_run_here(monkeypatch):
    """Workers of this machine run their jobs in this process."""
    monkeypatch.setattr(spare_process, "Supervised", ThisProcess)
