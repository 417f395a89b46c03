"""The unit of cost."""

from itertools import accumulate

import numpy as np

from lockstep_bench.bench.engine import plain_sgd
from lockstep_bench.bench.engine.replica import Data
from lockstep_bench.methods.maths.likelihoods import Categorical
from lockstep_bench.methods.networks.mlp import MLP


def test_sgd_time_per_minibatch_is_median_after_warm_up(monkeypatch):
    data = Data.of(np.zeros((20, 16), dtype=np.uint8), np.arange(20.0) % 3)
    minibatches = [100, 90, 3, 5, 40, 4, 6]
    clock = accumulate(step for seconds in minibatches for step in (1, seconds))
    monkeypatch.setattr(plain_sgd.time, "perf_counter", lambda: next(clock))
    assert plain_sgd.seconds_per_minibatch(MLP(16, (), 3), Categorical(3), data, 8) == 5
