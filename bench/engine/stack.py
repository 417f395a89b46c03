"""A stack: the fits of one method on one task, whose networks are trained together along a tensor axis.

Each network in a stack is called a replica. A fit is one replica, or one for each member of an ensemble. Each replica
has its own training rows, standardisation, hyper-parameters, order of minibatches and random numbers. The data matrix
is held once. A fit in a stack equals the same fit trained alone, up to rounding, because replicas do not depend on one
another.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from lockstep_bench.bench.engine.minibatches import RowStream, Schedule
from lockstep_bench.bench.engine.private_torch import tree_map
from lockstep_bench.bench.engine.random_streams import RandomStream
from lockstep_bench.bench.engine.replica import Data, Fit, Replica, ReplicaModel, replicas_of
from lockstep_bench.bench.engine.vectorise import one_by_one
from lockstep_bench.bench.native.row_orders import RowOrders
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.shared.seeds import seed_of

ROWS_AT_ONCE = 1 << 18  # row indices that are drawn together, 2 MiB


@dataclass(frozen=True)
class Stack:
    """R replicas of one model on one data set.

    Attributes:
        model: the method on its task, as functions of one replica.
        data: data that all replicas share.
        members: for each replica its fit, and its number as a member of an ensemble; members of a fit are adjacent.
        replicas: size, standardisation and hyper-parameters of all replicas; tensors have a leading axis of length R.
        parallel: whether `vmap` computes all replicas at once; otherwise one follows the other.
    """

    model: ReplicaModel
    data: Data
    members: tuple[tuple[Fit, int], ...]
    replicas: Replica
    parallel: bool

    @classmethod
    def of(cls, model: ReplicaModel, data: Data, fits: Sequence[Fit], *, standardise: bool, parallel: bool) -> "Stack":
        """Return the stack of fits, R = B x `Method.members` replicas.

        A parallel stack of one replica is padded to two. A batch of one would use other kernels, and results would
        differ in the last bit.

        Args:
            model: model of all fits.
            data: data of all fits.
            fits: B fits.
            standardise: False leaves x and y in original units.
            parallel: whether `vmap` computes all replicas at once.
        """
        members = [(fit, member) for fit in fits for member in range(model.method.members)]
        if parallel and len(members) == 1:
            members *= 2
        replicas = replicas_of(
            [fit for fit, _ in members],
            data,
            model.dtype,
            standardise_x=standardise,
            standardise_y=standardise and model.likelihood.standardises,
        )
        return cls(model, data, tuple(members), replicas, parallel)

    @property
    def n_different(self) -> int:
        """Number of replicas, without the copy that pads a stack of one replica to two."""
        return 1 if len(self.members) == 2 and self.members[0] is self.members[1] else len(self.members)

    def first(self, count: int) -> "Stack":
        """Return the stack of the first `count` replicas."""
        chosen = slice(count)
        return replace(self, members=self.members[chosen], replicas=tree_map(itemgetter(chosen), self.replicas))

    def vectorise(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Turn a function of one replica into a function of all, over a leading axis of every argument."""
        return vmap(function) if self.parallel else one_by_one(function)

    def noise(self, purpose: str, length: int) -> RandomStream:
        """Return the stream of random numbers (R, `length`) for a purpose: "init", "update" or "predict"."""
        return RandomStream(self._seeds(purpose), length, self.model.dtype, self.data.x.device)

    def noise_length(self, step: Callable[[Noise], Any]) -> int:
        """Return how many random numbers the function `step` of one replica draws."""
        gauge = NoiseGauge(self.model.dtype, self.data.x.device)
        step(gauge)
        return gauge.used

    def minibatches(self, schedule: Schedule) -> Iterator[np.ndarray]:
        """Return an iterator over the row numbers (U, R, L, M) of every replica's L minibatches of the next U updates.

        The iterator yields the rows of as many updates at a time as fit into the cache.
        """
        n_updates = schedule.plan.n_updates
        if self.model.method.full_batch:
            rows = self._all_rows(schedule.minibatch)
            return iter([np.broadcast_to(rows, (n_updates, *rows.shape))])
        orders = RowOrders([fit.rows for fit, _ in self.members], self._seeds("rows"))
        shape = self.model.method.batches_per_update, schedule.minibatch
        at_once = max(1, ROWS_AT_ONCE // (len(self.members) * prod(shape)))
        counts = (min(at_once, n_updates - first) for first in range(0, n_updates, at_once))
        return (orders.take(count, prod(shape)).reshape(count, -1, *shape) for count in counts)

    def _all_rows(self, length: int) -> np.ndarray:
        """Return every replica's training rows in a random order, (R, 1, `length`), to serve as a full batch."""
        pairs = zip(self.members, self._seeds("rows"), strict=True)
        orders = [RowStream(fit.rows, seed).take(len(fit.rows)) for (fit, _), seed in pairs]
        return side_by_side(orders, length)[:, None]

    def index(self, numbers: np.ndarray) -> Tensor:
        """Return row indices as a tensor on the data's device."""
        return torch.tensor(numbers, device=self.data.x.device)

    def _seeds(self, purpose: str) -> list[int]:
        return [seed_of(fit.seed, member, purpose) for fit, member in self.members]


def side_by_side(rows: Sequence[np.ndarray], length: int) -> np.ndarray:
    """Return B index arrays as one array (B, length); shorter ones are padded with their first index."""
    return np.stack([np.concatenate([index, np.full(length - len(index), index[0])]) for index in rows])
