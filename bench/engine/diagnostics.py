"""Diagnostics of recorded updates, computed for many updates in one call.

An eager update takes a millisecond or more, however few networks it has, so that eighty of them one by one would take
longer than hundreds of native updates. The inputs of recorded updates are therefore kept, and computed together.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import torch
from torch.func import vmap

from lockstep_bench.bench.engine.training_record import TrainingRecord
from lockstep_bench.bench.engine.updates import Update

NUMBERS_AT_ONCE = 1 << 20  # of states and inputs that are kept: 4 MiB, and some dozens of MiB of activations


class RecordedUpdates:
    """Computes the diagnostics of updates for a record.

    Args:
        updates: the update of each phase.
        record: record to which the diagnostics are added.
        together: whether updates are computed together, by `vmap` over updates; otherwise each when it is given.
    """

    def __init__(self, updates: Mapping[Hashable, Update], record: TrainingRecord, together: bool):
        self._updates, self._record, self._together = updates, record, together
        self._phase: Hashable = None
        self._kept: dict[int, list[Any]] = {}

    def add(self, number: int, phase: Hashable, inputs: list[Any]) -> None:
        """Keep the inputs of an update, or compute its diagnostics.

        Args:
            number: number of the update, 1 for the first.
            phase: value of `Method.phase` for the update.
            inputs: arguments of `Update` after those that are fixed.
        """
        if phase != self._phase:
            self.finish()
        self._phase = phase
        if not self._together:
            self._kept[number] = inputs
            self.finish()
            return
        self._kept[number] = [leaf.clone() for leaf in inputs]
        if (len(self._kept) + 1) * sum(leaf.numel() for leaf in inputs) > NUMBERS_AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Compute the diagnostics of all updates whose inputs are kept."""
        if not self._kept:
            return
        update = self._updates[self._phase]
        with self._record.timed(update.fixed[0].device):
            if self._together:
                stacked = map(torch.stack, zip(*self._kept.values(), strict=True))
                values = vmap(lambda *inputs: update(*update.fixed, *inputs)[1])(*stacked)
                found = [{name: rows[place] for name, rows in values.items()} for place in range(len(self._kept))]
            else:
                found = [update(*update.fixed, *inputs)[1] for inputs in self._kept.values()]
        for number, diagnostics in zip(self._kept, found, strict=True):
            self._record.add(number, diagnostics)
        self._kept.clear()
