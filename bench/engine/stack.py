"""The stacked trainer: R independent fits of one method and task, advanced together.

Every fit is one row of the stack (an ensemble's every member is one), with its own training rows, standardisation,
hyper-parameters, order of minibatches and noise. The data matrix is held once. A fit in a stack equals the same fit
alone, to rounding: nothing a row consumes depends on its neighbours.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_map, tree_unflatten

from bench.engine.graph_capture import record
from bench.engine.minibatches import RowStream, Schedule
from bench.engine.random_streams import TapeRecorder
from bench.engine.replica import Data, Fit, Model, rows_of
from bench.engine.seeds import seed_of
from bench.engine.vectorise import lockstep, one_by_one, row_of
from methods.base import Method
from methods.maths.noise import Noise, NoiseGauge
from methods.maths.predictive import Predictive
from methods.problem import Step, Task

Execution = Literal["traced", "eager", "compiled"]

UPDATES_PER_DEAL = 64
PREDICTIVE_NUMBERS = 1 << 17  # samples x points x rows evaluated at once, to stay in the caches
SWEEP_NUMBERS = 1 << 15  # training rows x rows of the stack swept at once


class Stack:
    """Fits in lockstep, trained at construction.

    Args:
        method: the method of all fits.
        task: the task of all fits.
        data: held once.
        fits: B fits; they become R = B x `method.members` rows.
        schedule: of all fits.
        standardise: False leaves x and y in original units.
        execution: "traced" records the update once and replays it (`bench.engine.graph_capture`), "compiled" also
        fuses it with
            `torch.compile`, worth its seconds of compilation for long runs only; "eager" does neither.
        dtype: of weights and arithmetic.
        stacked: False trains one row after the other, without vmap and eagerly.
        watch: called with the number of each update when it is done.

    Attributes:
        posterior: what `Method.finish` returned, every tensor with a leading axis of R rows, a fit's members adjacent.
    """

    def __init__(
        self,
        method: Method,
        task: Task,
        data: Data,
        fits: Sequence[Fit],
        schedule: Schedule,
        *,
        standardise: bool = True,
        execution: Execution = "traced",
        dtype: torch.dtype = torch.float32,
        stacked: bool = True,
        watch: Callable[[int], None] = lambda update: None,
    ):
        self.method, self.data, self.fits, self.schedule = method, data, fits, schedule
        self._model = Model(method, task, dtype)
        self._stacked, self._lift = stacked, lockstep if stacked else one_by_one
        self._execution = execution if stacked else "eager"
        self._members = [(fit, member) for fit in fits for member in range(method.members)]
        self._n_rows = len(self._members)
        if stacked and self._n_rows == 1:
            # A batch of one takes other kernels: with a twin, a fit's bits do not tell whether it has neighbours.
            self._members *= 2
        self._row = rows_of(
            [fit for fit, _ in self._members],
            data,
            dtype,
            standardise_x=standardise,
            standardise_y=standardise and self._model.likelihood.standardises,
        )
        with torch.no_grad():
            state = self._train(watch)
            if method.sweeps:
                state = self._sweep(state)
            posterior = self._lift(self._model.finish, (False, False))(self._row, state)
        self._row, self.posterior = tree_map(itemgetter(slice(self._n_rows)), (self._row, posterior))
        del self._members[self._n_rows :]

    @property
    def n_parameters(self) -> int:
        """Numbers stored in one fit's posterior, all members together."""
        numbers = sum(leaf.numel() for leaf in tree_leaves(self.posterior) if isinstance(leaf, Tensor))
        return numbers // len(self.fits)

    @property
    def n_weights(self) -> int:
        """D, weights of the network."""
        return self._model.network.dim

    @torch.no_grad()
    def predict(self, rows: Sequence[np.ndarray], n_samples: int) -> Iterator[Predictive]:
        """Each fit's predictive at its own rows of the data, members pooled, in the order of the fits.

        Args:
            rows: one index array per fit.
            n_samples: S; an ensemble of m members draws ceil(S / m) from each.
        """
        members = self.method.members
        per_member = -(-n_samples // members)

        def predict_one(row, posterior, index, noise):
            return self._model.predict(row, posterior, self.data.x[index], noise, per_member)

        first_row = tree_map(row_of, (self._row, self.posterior))
        length = self._gauge(lambda noise: predict_one(*first_row, self._index(rows[0][:1]), noise))
        tapes = next(self._tapes("predict", length))
        predict = self._lift(lambda *one: predict_one(*one[:3], Noise(one[3])), (False, False, False, False))
        longest = max(len(index) for index in rows)
        points = min(longest, max(1, PREDICTIVE_NUMBERS // per_member))
        group = max(1, PREDICTIVE_NUMBERS // (per_member * points * members))
        for first in range(0, len(rows), group):
            here = rows[first : first + group]
            index = self._index(_padded(here, longest)).repeat_interleave(members, dim=0)
            chosen = itemgetter(slice(first * members, (first + len(here)) * members))
            row, posterior, tape = tree_map(chosen, (self._row, self.posterior, tapes))
            if self._stacked and len(index) == 1:
                twin = partial(torch.repeat_interleave, repeats=2, dim=0)  # as in training
                row, posterior, tape, index = tree_map(twin, (row, posterior, tape, index))
            pieces = [predict(row, posterior, piece, tape) for piece in index.split(points, dim=1)]
            joined = tree_map(lambda *parts: torch.cat(parts, dim=2), *pieces)
            pooled = tree_map(lambda part: part.unflatten(0, (-1, members)).flatten(1, 2), joined)
            for offset, own in enumerate(here):
                yield tree_map(lambda part: part[offset, :, : len(own)], pooled)  # noqa: B023 (called at once)

    @torch.no_grad()
    def moments(self) -> list[tuple[Tensor, Tensor]] | None:
        """Mean (D,) and covariance (D, D) of each fit's weights, or None where only samples can tell."""
        first = tree_map(row_of, (self._row, self.posterior))
        if self.method.members > 1 or self._model.moments(*first) is None:
            return None
        return list(zip(*self._lift(self._model.moments, (False, False))(self._row, self.posterior), strict=True))

    @torch.no_grad()
    def diagnostics(self) -> list[dict[str, float]]:
        """What the method reports of each fit, averaged over its members."""
        found = self._lift(self._model.diagnostics, (False, False))(self._row, self.posterior)
        means = {name: value.unflatten(0, (-1, self.method.members)).mean(1).tolist() for name, value in found.items()}
        return [{name: values[number] for name, values in means.items()} for number in range(len(self.fits))]

    def _sweep(self, state: Any) -> Any:
        rows = [fit.rows for fit, _ in self._members]
        longest = max(map(len, rows))
        index = self._index(_padded(rows, longest))
        lengths = torch.tensor([[len(own)] for own in rows], device=index.device)
        present = (torch.arange(longest, device=index.device) < lengths).to(self._model.dtype)

        def sweep_one(row, index, present, state):
            return self._model.sweep(row, self.data.x, self.data.y, index, present, state)

        sweep = self._lift(sweep_one, (False, False, False, False))
        at_once = max(1, SWEEP_NUMBERS // len(rows))
        for places in torch.arange(longest, device=index.device).split(at_once):
            state = sweep(self._row, index[:, places], present[:, places], state)
        return state

    def _train(self, watch: Callable[[int], None]) -> Any:
        plan = self.schedule.plan
        length = self._gauge(lambda noise: self._model.init(tree_map(row_of, self._row), noise))
        init = self._lift(lambda row, tape: self._model.init(row, Noise(tape)), (False, False))
        state = init(self._row, next(self._tapes("init", length)))

        phases = [self.method.phase(update, plan) for update in range(1, plan.n_updates + 1)]
        counts = torch.arange(1, plan.n_updates + 1, dtype=self._model.dtype, device=self.data.x.device)
        examples = next(self._deals(plan.n_updates)), counts[0]
        lengths = [self._update_length(phase, state, *examples) for phase in dict.fromkeys(phases)]
        tapes = self._tapes("update", max(lengths))

        leaves, structure = tree_flatten(state)
        advance: dict[Any, Callable] = {}
        steps = zip(phases, counts, self._deals(plan.n_updates), strict=True)
        for update, (phase, count, index) in enumerate(steps, start=1):
            arguments = index, next(tapes), count
            if phase not in advance:
                advance[phase] = self._advance(phase, leaves, structure, arguments)
            leaves = advance[phase](*arguments, *leaves)
            watch(update)
        return tree_unflatten(leaves, structure)

    def _advance(self, phase: Any, state: list[Tensor], structure: TreeSpec, examples: tuple) -> Callable:
        """The update of one phase, of (index, tape, count, *state leaves) to the next state's leaves."""
        fixed, row_structure = tree_flatten((self._row, self.data.x, self.data.y))

        def update(*leaves: Tensor) -> list[Tensor]:
            row, x, y = tree_unflatten(leaves[: len(fixed)], row_structure)
            index, tape, count, *before = leaves[len(fixed) :]

            def update_one(row, index, state, tape):
                return self._model.update(row, x, y, index, state, Noise(tape), Step(count, phase))

            lifted = self._lift(update_one, (False, False, False, False))
            after, found = tree_flatten(lifted(row, index, tree_unflatten(before, structure), tape))
            self._require_same(before, structure, after, found)
            return after

        if self._execution == "eager":
            return partial(update, *fixed)
        replay = record(update, [*fixed, *examples, *state], len(fixed)).forward
        if self._execution == "compiled":
            replay = torch.compile(replay, fullgraph=True, dynamic=False)
        return partial(replay, *fixed)

    def _require_same(self, before: list, structure: TreeSpec, after: list, found: TreeSpec) -> None:
        given, returned = list(map(_signature, before)), list(map(_signature, after))
        if found != structure or returned != given:
            raise TypeError(
                f"{self.method.name}.update must return a state of the structure, shapes and types that it got; "
                f"got {given} in {structure}, returned {returned} in {found}"
            )

    def _deals(self, n_updates: int) -> Iterator[Tensor]:
        """For each update the row indices (R, L, M) of every row's minibatches."""
        streams = [RowStream(fit.rows, seed) for (fit, _), seed in zip(self._members, self._seeds("rows"), strict=True)]
        shape = self.method.batches_per_update, self.schedule.minibatch
        for first in range(0, n_updates, UPDATES_PER_DEAL):
            count = min(UPDATES_PER_DEAL, n_updates - first)
            dealt = [stream.take(count * shape[0] * shape[1]).reshape(count, *shape) for stream in streams]
            # The row axis goes second, so that every update's indices are contiguous: a compiled step insists on it.
            yield from self._index(np.stack(dealt, axis=1))

    def _update_length(self, phase: Any, state: Any, index: Tensor, count: Tensor) -> int:
        """Noise that one row's update takes in this phase."""
        # A copy, because a foreign library's model may change in place.
        row, index, state = deepcopy(tree_map(row_of, (self._row, index, state)))
        step = Step(count, phase)
        return self._gauge(lambda noise: self._model.update(row, self.data.x, self.data.y, index, state, noise, step))

    def _gauge(self, step: Callable[[Noise], Any]) -> int:
        gauge = NoiseGauge(self._model.dtype, self.data.x.device)
        step(gauge)
        return gauge.used

    def _tapes(self, purpose: str, length: int) -> TapeRecorder:
        return TapeRecorder(self._seeds(purpose), length, self._model.dtype, self.data.x.device)

    def _seeds(self, purpose: str) -> list[int]:
        return [seed_of(fit.seed, member, purpose) for fit, member in self._members]

    def _index(self, numbers: np.ndarray) -> Tensor:
        return torch.tensor(numbers, device=self.data.x.device)


def _signature(leaf: Any) -> str:
    return f"{leaf.dtype}{tuple(leaf.shape)}" if isinstance(leaf, Tensor) else type(leaf).__name__


def _padded(rows: Sequence[np.ndarray], length: int) -> np.ndarray:
    """Index arrays side by side (B, length), the shorter ones filled up with their first index."""
    return np.stack([np.concatenate([own, np.full(length - len(own), own[0])]) for own in rows])
