"""Benchmark cells that take as little training as possible, to measure the overhead of a run."""

from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.shared.protocol import Protocol

TRIVIAL = Protocol(epochs=1, batch_size=100, trials=1, folds=2, samples=5, validation_samples=5)
N_SPLITS = 10


def trivial_cells(count: int) -> list[Cell]:
    """Return `count` different cells (method, data set, split, seed) of MAP on diabetes, each of one short trial."""
    return [
        Cell("uci", "diabetes", "map", number % N_SPLITS, "trivial", TRIVIAL, seed=number // N_SPLITS)
        for number in range(count)
    ]
