"""A probe runs the real work, briefly, and finds what it costs."""

import time

import pytest
import torch

from bench.costs import probe as module
from bench.costs.probe import Clock, probe
from bench.experiment.cells import Cell
from bench.experiment.protocol import Protocol
from methods.map import MAP

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


@pytest.mark.parametrize(
    ("places", "values", "line"),
    [
        ([4, 24], [10.0, 30.0], (6.0, 1.0)),
        ([4, 24], [30.0, 10.0], (10.0, 0.0)),  # noise: more rows cannot take less
        ([4, 24], [1.0, 30.0], (0.0, 1.45)),
        ([1], [3.0], (0.0, 3.0)),
        ([5], [3.0], (0.0, 0.6)),
    ],
)
def test_two_points_make_a_line_that_is_never_below_zero(places, values, line):
    assert module._line(places, values) == pytest.approx(line)


def test_updates_that_are_recorded_first_do_not_count():
    clock = Clock(torch.device("cpu"))
    clock.times = [0.0, 9.0, 10.0, 12.0, 22.0, 23.0]  # 9 and 10 are the first of their phase; left are 1, 2 and 1
    assert clock.update_seconds(["a", "a", "a", "b", "b"]) == 1.0
    assert clock.update_seconds(list("abcde")) == 2.0  # nothing is repeated: the median of all


def test_a_method_whose_update_takes_a_known_time(monkeypatch):
    monkeypatch.setattr("bench.experiment.tasks.methods.get", lambda name: Busy())
    monkeypatch.setattr("bench.experiment.kinds.methods.get", lambda name: Busy())
    found = probe(CELL, None, "cpu")
    assert not found.stacked
    assert found.update == 0
    assert found.update_row >= BUSY_SECONDS
    assert found.batches_per_update == 3
    assert (found.trials, found.fits_per_trial, found.members) == (2, 3, 1)


def test_a_stack_holds_at_least_its_weights_and_their_two_averages():
    found = probe(CELL, None, "cpu")
    dim = 10 * 50 + 50 + 50 + 1
    assert found.stacked
    assert found.row_bytes >= 3 * 4 * dim
    assert found.base_bytes > 50 * 2**20  # a process that has imported torch
    assert (found.train_share, found.test_share) == (pytest.approx(0.9, abs=0.01), pytest.approx(0.1, abs=0.01))
    assert found.seconds([CELL], 150) > 0


def test_the_search_is_not_counted_where_nothing_is_searched():
    centred = Cell("uci", "diabetes", "map", 0, "p", QUICK.changed(sampler="centre"), 0)
    assert probe(centred, None, "cpu").trials == 0


def test_streams_are_probed_by_shorter_ones():
    stream = Cell("factor-analysis", "fa-D100-K10-spectrum1-10", "online-em-fa", 0, "p", Protocol(), 0)
    found = probe(stream, None, "cpu")
    assert found.update > 0
    assert found.trials == 0
