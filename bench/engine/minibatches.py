"""The number of updates of a fit, and the training rows in each update's minibatches."""

import math
from dataclasses import dataclass

import numpy as np

from lockstep_bench.bench.native.row_orders import RowOrders
from lockstep_bench.methods.base import Method, Plan


@dataclass(frozen=True)
class Schedule:
    """The number of updates of a fit, and the size of its minibatches.

    Fits that are trained side by side have the same schedule. An epoch is ceil(n / M) minibatches, where n is the
    number of training rows of the largest of these fits. Each fit goes through its own rows in a random order, and
    through a new order when all have been seen. Minibatches may contain the end of one order and the start of the next,
    so every minibatch has exactly M rows and no row is left out. After any number of minibatches, the counts of how
    often each row was seen differ by at most one. Folds whose sizes differ by one row can therefore be trained in
    lockstep.

    Attributes:
        n_rows: n, number of training rows of the largest fit.
        batch_size: M, rows per minibatch; n if that is smaller.
        epochs: number of passes over the training rows.
        batches_per_update: L, number of minibatches that one update uses.
        max_minibatches: stop after this many; None for no limit.
    """

    n_rows: int
    batch_size: int
    epochs: int
    batches_per_update: int
    max_minibatches: int | None = None

    @classmethod
    def of(
        cls, method: Method, n_rows: int, batch_size: int, epochs: int, max_minibatches: int | None = None
    ) -> "Schedule":
        """Return the schedule of a method's fits under a protocol; the other arguments are the attributes.

        A method may have another number of updates than the protocol plans (`Method.updates`), for example a Markov
        chain.
        """
        planned = cls(n_rows, batch_size, epochs, method.batches_per_update, max_minibatches)
        updates = method.updates(planned.plan)
        same = updates == planned.plan.n_updates and not method.full_batch
        return planned if same else cls.exactly(method, n_rows, batch_size, updates)

    @classmethod
    def exactly(cls, method: Method, n_rows: int, batch_size: int, n_updates: int) -> "Schedule":
        """Return a schedule with exactly `n_updates` updates, however many minibatches each of them uses."""
        minibatches, size = n_updates * method.batches_per_update, n_rows if method.full_batch else batch_size
        return cls(n_rows, size, minibatches, method.batches_per_update, minibatches)

    @property
    def minibatch(self) -> int:
        """M, rows in each minibatch."""
        return min(self.batch_size, self.n_rows)

    @property
    def plan(self) -> Plan:
        """Total number of updates, and number of updates per epoch."""
        per_epoch = math.ceil(self.n_rows / self.minibatch)
        total = min(self.epochs * per_epoch, self.max_minibatches or math.inf)
        return Plan(math.ceil(total / self.batches_per_update), per_epoch / self.batches_per_update)


class RowStream:
    """Endless sequence of one fit's training rows: one random permutation after another.

    Args:
        rows: (N,), indices of the training rows.
        seed: seed of the permutations.
    """

    def __init__(self, rows: np.ndarray, seed: int):
        self._orders = RowOrders([rows], [seed])

    def take(self, count: int) -> np.ndarray:
        """Return the next `count` rows. The sequence does not depend on how many rows each call takes."""
        taken: np.ndarray = self._orders.take(1, count)[0, 0]
        return taken
