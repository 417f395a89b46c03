"""A probe measures the real work, briefly."""

import time
from dataclasses import replace

import pytest
import torch

from lockstep_bench.bench.costs import probe as module
from lockstep_bench.bench.costs.cost import Cost
from lockstep_bench.bench.costs.probe import Clock, Times, probe
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
def test_line_through_two_points_is_never_negative(places, values, line):
    assert module._line(places, values) == pytest.approx(line)


def test_method_with_known_update_time(monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.experiment.tasks.methods.get", lambda name: Busy())
    monkeypatch.setattr("lockstep_bench.bench.experiment.kinds.methods.get", lambda name: Busy())
    cost = probe(CELL, None, "cpu")
    # 442 rows, 398 to train on: 266 of 3 folds, 27 minibatches of 10 an epoch, 3 an update; 40 for the final fit.
    updates = 2 * 3 * 18 + 27
    assert cost.stack_seconds == 0
    assert cost.cell_seconds >= updates * BUSY_SECONDS


def test_memory_holds_weights_and_optimiser_averages():
    cost = probe(CELL, None, "cpu")
    dim = 10 * 50 + 50 + 50 + 1
    assert cost.row_bytes >= 3 * 4 * dim
    assert cost.base_bytes > 50 * 2**20  # a process that has imported torch
    assert cost.stack_seconds > 0
    assert cost.work == CELL.work


def test_untuned_cell_costs_its_final_fit_alone(monkeypatch):
    monkeypatch.setattr("lockstep_bench.bench.experiment.tasks.methods.get", lambda name: Busy())
    monkeypatch.setattr("lockstep_bench.bench.experiment.kinds.methods.get", lambda name: Busy())
    update = 0.01  # seconds; all other times are nothing
    monkeypatch.setattr(module._Trainer, "recording_seconds", lambda trainer, updates: 0.0)
    monkeypatch.setattr(module._Trainer, "times", lambda trainer: Times(0.0, 0.0, 0.0, 0.0, update))
    monkeypatch.setattr(module._Trainer, "predict_seconds", lambda trainer, n_points: 0.0)
    tuned, centred = (
        probe(replace(CELL, protocol=QUICK.changed(sampler=sampler)), None, "cpu") for sampler in ("random", "centre")
    )
    # 442 rows, 398 to train on: 266 of 3 folds, 27 minibatches of 10 an epoch, 3 an update; 40 for the final fit.
    assert tuned.cell_seconds == pytest.approx((2 * 3 * 18 + 27) * update)
    assert centred.cell_seconds == pytest.approx(27 * update)


def test_streams_are_probed_by_shorter_ones():
    long, short = (
        Cell("factor-analysis", "fa-D100-K10-spectrum1-10", "online-em-fa", 0, "p", Protocol(stream_length=length), 0)
        for length in (100_000, 10)
    )
    assert probe(long, None, "cpu").cell_seconds > probe(short, None, "cpu").cell_seconds > 0


def test_update_times_come_from_bursts_of_any_length():
    clock = Clock(torch.device("cpu"))
    clock.times = [(0, 0.0), (1, 5.0), (101, 6.0), (201, 7.0)]
    assert clock.update_seconds == pytest.approx(0.01)


def test_empty_lanes_cost_as_much_as_full_ones():
    times = Times(job=0.0, stack=1.0, fit=0.5, update=0.0, update_of_fit=0.01, lanes=16)
    assert [times.of_stack(n_fits, 10) + times.of_fits(n_fits, 10) for n_fits in (1, 16)] == pytest.approx([3.1, 10.6])


def test_jobs_pay_for_tracing_once():
    cost = Cost(CELL.work, 10.0, 2.0, 1.0, 0, 0)
    assert cost.seconds([CELL] * 3, rows=1000, work=CELL.work) == 10.0 + 2.0 + 3.0
