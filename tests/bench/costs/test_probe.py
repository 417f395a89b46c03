"""A probe measures the real work, briefly."""

from dataclasses import replace

import pytest
import torch

from lockstep_bench.bench.costs import probe as module
from lockstep_bench.bench.costs.batching import ASSUMED
from lockstep_bench.bench.costs.probe import probe
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.methods.map import MAP
from lockstep_bench.shared.protocol import Protocol

QUICK = Protocol(epochs=2, trials=2, folds=3)
CELL = Cell("uci", "diabetes", "map", 0, "p", QUICK, 0)


class Counted(MAP):
    """Counts its updates, of one fit after the other."""

    name = "counted"
    stackable = False
    batches_per_update = 3
    made = 0

    def update(self, *arguments):
        Counted.made += 1
        return super().update(*arguments)


@pytest.mark.parametrize("sampler", ["random", "centre"])
def test_probed_seconds_predict_the_run(monkeypatch, sampler):
    """The clock shows only updates, of a second each. The final fit has half as many again as those to folds."""
    monkeypatch.setattr("lockstep_bench.methods.get", lambda name: Counted())
    monkeypatch.setattr(module, "_clock", lambda device: float(Counted.made))
    cell = replace(CELL, protocol=QUICK.changed(sampler=sampler))
    seconds, _ = module._run(cell, 1000, None, torch.device("cpu"))  # more updates than any of its fits has
    assert seconds > 2 * module.ALONE[1]
    assert probe(cell, None, "cpu").seconds == pytest.approx(seconds, rel=0.15)


def test_probe_measures_memory_and_work():
    cost = probe(CELL, None, "cpu")
    assert cost.base_bytes > 50 * 2**20  # a process that has imported torch
    assert cost.row_bytes >= ASSUMED.row
    assert cost.work == CELL.work


def test_probe_of_a_stream_uses_a_shorter_stream(monkeypatch):
    """The clock shows how many vectors the streams had that ran."""
    lengths: list[int] = []
    run = module._run

    def noted(cell, length, *others):
        lengths.append(length)
        return float(min(length, cell.protocol.stream_length)), run(cell, length, *others)[1]

    monkeypatch.setattr(module, "_run", noted)
    for length in (100_000, 10):
        protocol = Protocol(stream_length=length)
        cell = Cell("factor-analysis", "fa-D100-K10-spectrum1-10", "online-em-fa", 0, "p", protocol, 0)
        assert probe(cell, None, "cpu").seconds == length
    assert max(lengths) == module.VECTORS[1]
