"""Diagnostics of recorded updates, computed for many updates in one call.

An eager update takes a millisecond or more, however few networks it has, so that eighty of them one by one would take
longer than hundreds of native updates. The inputs of recorded updates are therefore kept, and the diagnostics of all
are computed together.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from lockstep_bench.bench.engine.training_record import TrainingRecord
from lockstep_bench.bench.engine.updates import Update

NUMBERS_AT_ONCE = 1 << 20  # of states and inputs that are kept: 4 MiB, and some dozens of MiB of activations


class RecordedUpdates:
    """Computes the diagnostics of updates for a record.

    Args:
        updates: the update of each phase.
        record: record to which the diagnostics are added.
        together: whether updates are computed together, by `vmap` over updates; otherwise one after the other.

    Attributes:
        full: whether `finish` is due, as no further update may be kept.
    """

    def __init__(self, updates: Mapping[Hashable, Update], record: TrainingRecord, together: bool):
        self._updates, self._record, self._together = updates, record, together
        self._kept: dict[Hashable, dict[int, list[Any]]] = {}
        self._size = 0
        self.full = False

    def keep(self, number: int, phase: Hashable, inputs: list[Any]) -> None:
        """Keep the inputs of an update.

        Args:
            number: number of the update, 1 for the first.
            phase: value of `Method.phase` for the update.
            inputs: arguments of `Update` after those that are fixed.
        """
        if self._together:
            inputs = [leaf.clone() for leaf in inputs]
            size = sum(leaf.numel() for leaf in inputs)
            self._size += size
        self._kept.setdefault(phase, {})[number] = inputs
        self.full = not self._together or self._size + size > NUMBERS_AT_ONCE

    def finish(self) -> None:
        """Add the diagnostics of all kept updates to the record."""
        found: dict[int, Mapping[str, Tensor]] = {}
        for phase, kept in self._kept.items():
            update = self._updates[phase]
            with self._record.timed(update.fixed[0].device):
                if self._together:
                    index, noise, counts, *states = map(torch.stack, zip(*kept.values(), strict=True))
                    replicas, along = update.fixed[:-2], [0] * len(states)
                    of_networks = vmap(update.diagnostics_of_one(), (None, 0, 0, *([0] * len(replicas)), *along))
                    of_updates = vmap(of_networks, (0, 0, 0, *([None] * len(replicas)), *along))
                    values = of_updates(counts, index, noise, *replicas, *states)
                    for place, number in enumerate(kept):
                        found[number] = {name: rows[place] for name, rows in values.items()}
                else:
                    found |= {number: update(*update.fixed, *inputs)[1] for number, inputs in kept.items()}
        for number in sorted(found):
            self._record.add(number, found[number])
        self._kept, self._size = {}, 0
