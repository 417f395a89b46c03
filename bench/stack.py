"""The stacked trainer: R independent fits of one method and task, advanced together.

Every fit is one row of the stack (an ensemble's every member is one), with its own training rows, standardisation,
hyper-parameters, order of minibatches and noise. The data matrix is held once. A fit in a stack equals the same fit
alone, to rounding: nothing a row consumes depends on its neighbours.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_map, tree_unflatten

from bench.lift import lockstep, one_by_one, row_of
from bench.minibatches import RowStream, Schedule
from bench.seeds import seed_of
from bench.tapes import TapeRecorder
from bench.trace import record
from datasets import Standardisation
from methods.base import Method
from methods.likelihoods import Predictive
from methods.noise import Noise, NoiseGauge
from methods.problem import Batch, Problem, Step, Task

UPDATES_PER_DEAL = 64
PREDICTIVE_NUMBERS = 1 << 17  # samples x points x rows evaluated at once, to stay in the caches


@dataclass(frozen=True)
class Data:
    """A data set on a device, held once and shared by all rows of a stack.

    Attributes:
        x: (N, P), features in original units, float64.
        y: (N,), targets in original units, float64.
    """

    x: Tensor
    y: Tensor

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, device: torch.device | str = "cpu") -> "Data":
        return cls(torch.tensor(x, device=device), torch.tensor(y, device=device))


@dataclass(frozen=True)
class Fit:
    """One training run to be made.

    Attributes:
        rows: indices of its training rows.
        hparams: name -> value.
        seed: fixes initial weights, noise and the order of minibatches.
    """

    rows: np.ndarray
    hparams: Mapping[str, float]
    seed: int


class Row(NamedTuple):
    """What tells one row of a stack from another, each tensor with a leading row axis outside the lifted functions."""

    n_train: Tensor  # ()
    x_mean: Tensor  # (P,)
    x_scale: Tensor  # (P,)
    y_mean: Tensor  # ()
    y_scale: Tensor  # ()
    hparams: dict[str, Tensor]  # () each


class Stack:
    """Fits in lockstep, trained at construction.

    Args:
        method: the method of all fits.
        task: the task of all fits.
        data: held once.
        fits: B fits; they become R = B x `method.members` rows.
        schedule: of all fits.
        standardise: False leaves x and y in original units.
        execution: "traced" records the update once and replays it (`bench.trace`), "compiled" also fuses it with
            `torch.compile`, worth its tens of seconds for long runs only; "eager" does neither.
        dtype: of weights and arithmetic.
        stacked: False trains one row after the other, without vmap.
        watch: called with the number of each update when it is done.
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
        execution: str = "traced",
        dtype: torch.dtype = torch.float32,
        stacked: bool = True,
        watch: Callable[[int], None] = lambda update: None,
    ):
        self.method, self.task, self.data, self.fits, self.schedule = method, task, data, fits, schedule
        self._network = method.network(task)
        self._dtype, self._device = dtype, data.x.device
        self._lift = lockstep if stacked else one_by_one
        self._execution = execution if stacked else "eager"
        self._members = [(fit, member) for fit in fits for member in range(method.members)]
        self._row = self._rows(standardise)
        with torch.no_grad():
            state = self._train(watch)
            self.posterior = self._lift(self._finish, (False, False))(self._row, state)

    @property
    def n_parameters(self) -> int:
        """Numbers stored in one fit's posterior, all members together."""
        rows = len(self._members)
        numbers = sum(leaf.numel() for leaf in tree_leaves(self.posterior) if isinstance(leaf, Tensor))
        return numbers // rows * self.method.members

    @property
    def n_weights(self) -> int:
        """D, weights of the network."""
        return self._network.dim

    @torch.no_grad()
    def predict(self, rows: Sequence[np.ndarray], n_samples: int) -> Iterator[Predictive]:
        """Each fit's predictive at its own rows of the data, members pooled, in the order of the fits.

        Args:
            rows: one index array per fit.
            n_samples: S; an ensemble of m members draws ceil(S / m) from each.
        """
        members = self.method.members
        per_member = -(-n_samples // members)
        own = tree_map(row_of, (self._row, self.posterior))
        point = torch.tensor(rows[0][:1], device=self._device)
        length = self._gauge(lambda noise: self._predict(*own, point, noise, per_member))
        tapes = next(TapeRecorder(self._seeds("predict"), length, self._dtype, self._device))
        predict = self._lift(
            lambda row, posterior, index, tape: self._predict(row, posterior, index, Noise(tape), per_member),
            (False, False, False, False),
        )
        longest = max(len(index) for index in rows)
        points = min(longest, max(1, PREDICTIVE_NUMBERS // per_member))
        group = max(1, PREDICTIVE_NUMBERS // (per_member * points * members))
        for first in range(0, len(rows), group):
            index = _padded(rows[first : first + group], longest)
            index = torch.tensor(index, device=self._device).repeat_interleave(members, dim=0)
            chosen = slice(first * members, (first + group) * members)
            row, posterior, tape = tree_map(lambda leaf: leaf[chosen], (self._row, self.posterior, tapes))  # noqa: B023
            pieces = [predict(row, posterior, piece, tape) for piece in index.split(points, dim=1)]
            joined = tree_map(lambda *parts: torch.cat(parts, dim=-1), *pieces)
            pooled = tree_map(lambda part: part.unflatten(0, (-1, members)).flatten(1, 2), joined)
            for offset, own in enumerate(rows[first : first + group]):
                yield Predictive(*(part[offset, :, : len(own)] for part in pooled))

    def _rows(self, standardise: bool) -> Row:
        x, y = self.data.x.cpu().numpy(), self.data.y.cpu().numpy()
        scalings = []
        for fit, _ in self._members:
            if standardise:
                scalings.append((*Standardisation.of(x, fit.rows), *Standardisation.of(y, fit.rows)))
            else:
                scalings.append((np.zeros(x.shape[1]), np.ones(x.shape[1]), 0.0, 1.0))
        x_mean, x_scale, y_mean, y_scale = (
            torch.tensor(np.stack(column), device=self._device) for column in zip(*scalings, strict=True)
        )
        own = {"dtype": self._dtype, "device": self._device}
        return Row(
            n_train=torch.tensor([len(fit.rows) for fit, _ in self._members], **own),
            x_mean=x_mean,
            x_scale=x_scale,
            y_mean=y_mean,
            y_scale=y_scale,
            hparams={
                name: torch.tensor([fit.hparams[name] for fit, _ in self._members], **own)
                for name in self.fits[0].hparams
            },
        )

    def _train(self, watch: Callable[[int], None]) -> Any:
        plan = self.schedule.plan
        init_length = self._gauge(lambda noise: self._init(tree_map(row_of, self._row), noise))
        init = self._lift(lambda row, tape: self._init(row, Noise(tape)), (False, False))
        state = init(self._row, next(TapeRecorder(self._seeds("init"), init_length, self._dtype, self._device)))

        phases = [self.method.phase(update, plan) for update in range(1, plan.n_updates + 1)]
        counts = torch.arange(1, plan.n_updates + 1, dtype=self._dtype, device=self._device)
        deals = self._deals(plan.n_updates)
        examples = next(deals), counts[0]
        lengths = [self._update_length(phase, state, *examples) for phase in dict.fromkeys(phases)]
        tapes = TapeRecorder(self._seeds("update"), max(lengths), self._dtype, self._device)

        leaves, structure = tree_flatten(state)
        advance: dict[Any, Callable] = {}
        deals = self._deals(plan.n_updates)
        for update, (phase, count, index) in enumerate(zip(phases, counts, deals, strict=True), start=1):
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
            lifted = self._lift(
                lambda row, index, state, tape: self._update(row, x, y, index, state, Noise(tape), Step(count, phase)),
                (False, False, False, False),
            )
            after, found = tree_flatten(lifted(row, index, tree_unflatten(before, structure), tape))
            if found != structure or list(map(_signature, after)) != list(map(_signature, before)):
                raise TypeError(
                    f"{self.method.name}.update must return a state of the structure, shapes and types that it got; "
                    f"got {list(map(_signature, before))} in {structure}, "
                    f"returned {list(map(_signature, after))} in {found}"
                )
            return after

        arguments = [*fixed, *examples, *state]
        if self._execution == "eager":
            return partial(update, *fixed)
        replay = record(update, arguments, len(fixed)).forward
        if self._execution == "compiled":
            replay = torch.compile(replay, fullgraph=True, dynamic=False)
        return partial(replay, *fixed)

    def _deals(self, n_updates: int) -> Iterator[Tensor]:
        """For each update the row indices (R, L, M) of every row's minibatches."""
        streams = [RowStream(fit.rows, seed) for (fit, _), seed in zip(self._members, self._seeds("rows"), strict=True)]
        shape = self.method.batches_per_update, self.schedule.minibatch
        for first in range(0, n_updates, UPDATES_PER_DEAL):
            count = min(UPDATES_PER_DEAL, n_updates - first)
            dealt = [stream.take(count * shape[0] * shape[1]).reshape(count, *shape) for stream in streams]
            # The row axis goes second, so that every update's indices are contiguous: a compiled step insists on it.
            yield from torch.tensor(np.stack(dealt, axis=1), device=self._device)

    # What one row does, free of the row axis.

    def _init(self, row: Row, noise: Noise) -> Any:
        return self.method.init(self._problem(row), SimpleNamespace(**row.hparams), noise)

    def _update(self, row: Row, x: Tensor, y: Tensor, index: Tensor, state: Any, noise: Noise, t: Step) -> Any:
        batch = Batch(self._standardised(row, x[index]), ((y[index] - row.y_mean) / row.y_scale).to(self._dtype))
        return self.method.update(self._problem(row), state, batch, SimpleNamespace(**row.hparams), noise, t)

    def _finish(self, row: Row, state: Any) -> Any:
        return self.method.finish(self._problem(row), state, SimpleNamespace(**row.hparams))

    def _predict(self, row: Row, posterior: Any, index: Tensor, noise: Noise, n_samples: int) -> Predictive:
        x = self._standardised(row, self.data.x[index])
        hparams = SimpleNamespace(**row.hparams)
        return self.method.predict(self._problem(row), posterior, x, hparams, noise, n_samples)

    def _standardised(self, row: Row, x: Tensor) -> Tensor:
        return ((x - row.x_mean) / row.x_scale).to(self._dtype)

    def _problem(self, row: Row) -> Problem:
        y_mean, y_scale = row.y_mean.to(self._dtype), row.y_scale.to(self._dtype)
        return Problem(self._network, self.task.likelihood, row.n_train, y_mean, y_scale)

    # How much noise a step takes, measured on one row.

    def _gauge(self, step: Any) -> int:
        gauge = NoiseGauge(self._dtype, self._device)
        step(gauge)
        return gauge.used

    def _update_length(self, phase: Any, state: Any, index: Tensor, count: Tensor) -> int:
        # A copy, because a foreign library's model may change in place.
        row, index, state = deepcopy(tree_map(row_of, (self._row, index, state)))
        step = Step(count, phase)
        return self._gauge(lambda noise: self._update(row, self.data.x, self.data.y, index, state, noise, step))

    def _seeds(self, purpose: str) -> list[int]:
        return [seed_of(fit.seed, member, purpose) for fit, member in self._members]


def _signature(leaf: Any) -> str:
    return f"{leaf.dtype}{tuple(leaf.shape)}" if isinstance(leaf, Tensor) else type(leaf).__name__


def _padded(rows: Sequence[np.ndarray], length: int) -> np.ndarray:
    """Index arrays side by side (B, length), the shorter ones filled up with their first index."""
    return np.stack([np.concatenate([own, np.full(length - len(own), own[0])]) for own in rows])
