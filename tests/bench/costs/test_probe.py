"""A probe measures the real work, briefly."""

import time
from dataclasses import replace

import pytest

from lockstep_bench.bench.costs.batching import ASSUMED
from lockstep_bench.bench.costs.probe import probe
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.methods.map import MAP
from lockstep_bench.shared.protocol import Protocol

QUICK = Protocol(epochs=2, trials=2, folds=3)
CELL = Cell("uci", "diabetes", "map", 0, "p", QUICK, 0)
BUSY_SECONDS = 0.005


class Busy(MAP):
    """Works for a known time at every update, one fit after the other."""

    name = "busy"
    stackable = False
    batches_per_update = 3

    def update(self, *arguments):
        end = time.process_time() + BUSY_SECONDS
        while time.process_time() < end:
            pass
        return super().update(*arguments)


@pytest.fixture
def busy(monkeypatch):
    """A method whose updates take a known time has the place of every other."""
    monkeypatch.setattr("lockstep_bench.methods.get", lambda name: Busy())


# 442 rows, 398 to train on: 266 of 3 folds, 27 minibatches of 10 an epoch, 3 an update; 40 for the final fit.
@pytest.mark.parametrize(("sampler", "updates"), [("random", 2 * 3 * 18 + 27), ("centre", 27)])
def test_seconds_of_a_method_with_known_update_time(busy, sampler, updates):
    cost = probe(replace(CELL, protocol=QUICK.changed(sampler=sampler)), None, "cpu")
    assert updates * BUSY_SECONDS * 0.8 <= cost.seconds <= updates * BUSY_SECONDS * 2 + 1


def test_cost_has_memory_and_work():
    cost = probe(CELL, None, "cpu")
    assert cost.base_bytes > 50 * 2**20  # a process that has imported torch
    assert cost.row_bytes >= ASSUMED.row
    assert cost.work == CELL.work


def test_streams_are_probed_by_shorter_ones():
    long, short = (
        Cell("factor-analysis", "fa-D100-K10-spectrum1-10", "online-em-fa", 0, "p", Protocol(stream_length=length), 0)
        for length in (100_000, 10)
    )
    assert probe(long, None, "cpu").seconds > probe(short, None, "cpu").seconds > 0
