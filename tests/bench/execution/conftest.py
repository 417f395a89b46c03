"""Jobs that the tests of runs share."""

import pytest
from cell_runs import TINY

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.jobs import Job


@pytest.fixture
def job(tmp_path):
    def make(method: str = "vifa", split: int = 0, **changes) -> Job:
        cell = Cell("uci", "diabetes", method, split, "tiny", TINY.changed(**changes), seed=0)
        return Job((cell,), (tmp_path / f"{method}-{split}.json",), None)

    return make
