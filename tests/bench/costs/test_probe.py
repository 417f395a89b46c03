"""A probe measures the real work, briefly."""

from dataclasses import replace

import pytest
import torch

from lockstep_bench.bench.costs import probe as module
from lockstep_bench.bench.costs.batching import ASSUMED
from lockstep_bench.bench.costs.probe import probe
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.results.record import DataFacts, Outcome
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
    assert probe(cell, None, "cpu").seconds_of(cell.work, 1) == pytest.approx(seconds, rel=0.15)


def made_up(monkeypatch, seconds):
    """Let jobs of 1,000 minibatches take `seconds(updates, cells)`; return the numbers of updates that were run."""
    asked: list[int] = []

    def run(cell, length, data_dir, device, n_cells=1):
        asked.append(length)
        return seconds(module._length(cell, length, OUTCOME), n_cells), OUTCOME

    monkeypatch.setattr(module, "_run", run)
    return asked


OUTCOME = Outcome(data=DataFacts(task="regression", n_train=150, n_test=10, n_ood=0, data_sha256="", split_sha256=""))
LONG = replace(CELL, protocol=QUICK.changed(epochs=100))  # 1,000 updates to 100 of 150 rows


@pytest.mark.parametrize("n_cells", [1, 2, 5])
def test_probe_separates_what_the_cells_of_a_job_share(monkeypatch, n_cells):
    made_up(monkeypatch, lambda updates, cells: 0.3 + 1e-3 * updates + cells * (0.1 + 2e-3 * updates))
    cost = probe(LONG, None, "cpu")
    assert cost.seconds_of(LONG.work, n_cells) == pytest.approx(0.3 + 1.0 + n_cells * (0.1 + 2.0))
    assert cost.seconds_of(2 * LONG.work, n_cells) == pytest.approx(0.3 + 2.0 + n_cells * (0.1 + 4.0))


def test_probe_trains_longer_until_updates_take_time(monkeypatch):
    longer = replace(LONG, protocol=QUICK.changed(epochs=10_000))
    asked = made_up(monkeypatch, lambda updates, cells: 1.0 + 1e-4 * updates)
    assert probe(longer, None, "cpu").seconds_of(longer.work, 1) == pytest.approx(1.0 + 1e-4 * 100_000)
    assert max(asked) == 16 * module.STACKED[1]
    asked = made_up(monkeypatch, lambda updates, cells: 1.0)
    assert probe(LONG, None, "cpu").seconds_of(LONG.work, 1) == pytest.approx(1.0)
    assert max(asked) == module.STACKED[1]


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
        return float(min(length, cell.protocol.stream_length)), run(cell, min(length, 100), *others)[1]

    monkeypatch.setattr(module, "_run", noted)
    for length in (100_000, 10):
        protocol = Protocol(stream_length=length)
        cell = Cell("factor-analysis", "fa-D100-K10-spectrum1-10", "online-em-fa", 0, "p", protocol, 0)
        assert probe(cell, None, "cpu").seconds_of(cell.work, 1) == length
    assert max(lengths) == module.VECTORS[1]
