"""What stacks of a method cost, in seconds and bytes.

seconds of a stack of R rows = setup + R setup_row + updates (update + R update_row)
seconds of its predictions   = R points samples predict
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import datasets
from bench.costs.packing import Need
from bench.experiment.cells import Cell
from datasets.synthetic.streams import StreamSource


@dataclass(frozen=True)
class Cost:
    """What was measured of a method on a data set.

    Attributes:
        setup, setup_row: seconds that a stack takes besides its updates, and more for each of its rows.
        update, update_row: seconds of an update, and more for each row.
        predict: seconds per row, point and sample.
        base_bytes, row_bytes: of memory, as in `bench.costs.packing.Need`.
        train_share, test_share: rows to train on, and points to predict at, of a cell, over the rows of the data set.
        stacked: whether rows advance together.
        members, final_members: rows of a trial's fit, and of a final fit.
        batches_per_update: minibatches that an update takes.
        trials, fits_per_trial: of a cell.
        effort: how many times the protocol's epochs.
    """

    setup: float
    setup_row: float
    update: float
    update_row: float
    predict: float
    base_bytes: int
    row_bytes: int
    train_share: float
    test_share: float
    stacked: bool = True
    members: int = 1
    final_members: int = 1
    batches_per_update: int = 1
    trials: int = 0
    fits_per_trial: int = 1
    effort: float = 1.0

    @property
    def need(self) -> Need:
        """Memory of a job."""
        return Need(self.base_bytes, self.row_bytes)

    def seconds(self, cells: Sequence[Cell], rows: int) -> float:
        """Of a job of `cells` whose stacks have at most so many rows: of its trials, and of its final fits."""
        cell, n_rows = cells[0], datasets.entry(cells[0].dataset).n_rows
        protocol, train, test = cell.protocol, round(self.train_share * n_rows), self.test_share * n_rows
        fits = len(cells) * self.trials * self.fits_per_trial
        held_out = train // protocol.folds if self.fits_per_trial > 1 else 0
        tuning = self._training(fits * self.members, self._rounds(cell), train - held_out, cell, rows)
        final = self._training(len(cells) * self.final_members, 1, train, cell, rows)
        predicted = fits * held_out * protocol.validation_samples + len(cells) * test * protocol.samples
        return tuning + final + predicted * self.predict

    def _training(self, n_rows: int, rounds: int, train: int, cell: Cell, rows: int) -> float:
        if not n_rows:
            return 0.0
        updates = self._updates(cell, train)
        stacks = rounds * ceil(n_rows / rounds / rows) if self.stacked else 0
        return stacks * (self.setup + updates * self.update) + n_rows * (self.setup_row + updates * self.update_row)

    def _updates(self, cell: Cell, train: int) -> int:
        protocol, source = cell.protocol, datasets.entry(cell.dataset)
        if isinstance(source, StreamSource):
            return min(protocol.stream_length, source.max_length or protocol.stream_length)
        minibatches = protocol.epochs * self.effort * ceil(train / min(protocol.batch_size, train))
        updates = min(minibatches, protocol.max_minibatches or minibatches) / self.batches_per_update
        return ceil(min(updates, protocol.max_updates or updates))

    def _rounds(self, cell: Cell) -> int:
        return max(1, sum(1 for _ in cell.protocol.rounds()))
