"""Notes for the user on numbers of epochs that training does not reach, because `max_minibatches` ends it before."""

from collections.abc import Sequence
from math import ceil
from pathlib import Path

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.shared.protocol import VECTORS


def notes_on_capped_epochs(cells: Sequence[Cell], data_dir: Path | None) -> list[str]:
    """Return a sentence for each protocol whose `max_minibatches` ends final fits before their last epoch.

    Args:
        cells: Cells of a run whose number of epochs the user gave. Only tables are looked at; data sets that cannot be
            loaded on this machine are skipped.
        data_dir: Data folder; None for the default.
    """
    capped: dict[tuple[int, int], dict[str, int]] = {}  # needed minibatches by data set, for each (epochs, cap)
    for cell in {(cell.suite, cell.dataset, cell.protocol.hash): cell for cell in cells}.values():
        cap = cell.protocol.max_minibatches
        if cap and SUITES[cell.suite].kind.data == VECTORS and (needed := _minibatches(cell, data_dir)) > cap:
            capped.setdefault((cell.protocol.epochs, cap), {})[cell.dataset] = needed
    return [
        f"The protocol ends training on {', '.join(sorted(needed))} after {cap} minibatches (max_minibatches), before "
        f"--epochs {epochs} is reached; --set max_minibatches={max(needed.values())} trains for all {epochs} epochs."
        for (epochs, cap), needed in capped.items()
    ]


def _minibatches(cell: Cell, data_dir: Path | None) -> int:
    """Return the number of minibatches in all epochs of a cell's final fit; 0 if its data cannot be loaded."""
    try:
        n_train = len(datasets.load(cell.dataset, data_dir).splits[cell.split].train)
    except (datasets.BrokenDataset, datasets.Unavailable):
        return 0  # the set's cells will say so
    return cell.protocol.epochs * ceil(n_train / cell.protocol.batch_size)
