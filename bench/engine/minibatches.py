"""Which training rows each update sees."""

import math
from dataclasses import dataclass

import numpy as np

from methods.base import Plan


@dataclass(frozen=True)
class Schedule:
    """How many updates a fit gets. It depends on the job's sizes alone, never on what else is in the stack.

    An epoch is ceil(n / M) minibatches, n the number of training rows of the job's largest fit. Each fit walks
    through its own rows in its own random order, and through a new order when it has seen them all; minibatches
    straddle that seam, so every minibatch has exactly M rows, none is dropped, and after any number of minibatches
    no row of a fit has been seen more than once more often than another. Folds whose sizes differ by one therefore
    march in step: the smaller is merely a row or two further into its next order.

    Attributes:
        n_rows: n, training rows of the largest fit of the job.
        batch_size: M; n where n is smaller.
        epochs: passes over the training rows.
        batches_per_update: L, minibatches that one update consumes.
        max_minibatches: stop after this many; None for never.
    """

    n_rows: int
    batch_size: int
    epochs: int
    batches_per_update: int
    max_minibatches: int | None = None

    @property
    def minibatch(self) -> int:
        """M, rows in each minibatch."""
        return min(self.batch_size, self.n_rows)

    @property
    def plan(self) -> Plan:
        """Updates in all and per epoch."""
        per_epoch = math.ceil(self.n_rows / self.minibatch)
        total = min(self.epochs * per_epoch, self.max_minibatches or math.inf)
        return Plan(math.ceil(total / self.batches_per_update), per_epoch / self.batches_per_update)


class RowStream:
    """The endless sequence of one fit's training rows: one random order after another."""

    def __init__(self, rows: np.ndarray, seed: int):
        self._rows = np.asarray(rows)
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._left = self._rows[:0]

    def take(self, count: int) -> np.ndarray:
        """The next `count` rows of the sequence; how it is cut into pieces does not change it."""
        pieces = [self._left]
        missing = count - len(self._left)
        while missing > 0:
            pieces.append(self._generator.permutation(self._rows))
            missing -= len(self._rows)
        sequence = np.concatenate(pieces)
        self._left = sequence[count:]
        return sequence[:count]
