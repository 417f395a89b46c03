"""Cells that are as cheap as possible, to measure what a run costs besides training."""

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol

TRIVIAL = Protocol(epochs=1, batch_size=100, trials=1, folds=2, samples=5, validation_samples=5)
N_SPLITS = 10


def trivial_cells(count: int) -> list[Cell]:
    """Return `count` different cells of MAP on diabetes, each of one trial and a few minibatches."""
    return [
        Cell("uci", "diabetes", "map", number % N_SPLITS, "trivial", TRIVIAL, seed=number // N_SPLITS)
        for number in range(count)
    ]
