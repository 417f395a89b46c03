"""The benchmark of image networks on a GPU; speed itself is not tested."""

import numpy as np
import pytest

from benchmarks import image_updates
from lockstep_bench.bench.engine.replica import Data


def test_time_of_an_update_is_a_difference_per_network(monkeypatch):
    """Clock: a training takes ten seconds to start, and two for each update of each network."""
    now = [0.0]
    monkeypatch.setattr(image_updates.time, "perf_counter", lambda: now[0])

    def train(series, schedule, record, augment, rate, on_update):
        now[0] += 10 + 2 * schedule.plan.n_updates * len(series.members)
        return iter(series.members)

    pixels = np.zeros((200, 784), dtype=np.uint8)
    data = Data.of(pixels, np.arange(200.0) % 10)
    assert image_updates.milliseconds("map", data, train, 3, (5, 50)) == pytest.approx(2000)
    assert image_updates.milliseconds("deep-ensemble", data, train, 2, (5, 50)) == pytest.approx(2000)
