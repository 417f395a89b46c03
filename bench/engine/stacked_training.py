"""Training of a stack: R replicas advance together, one update after the other."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from operator import itemgetter
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bench.engine.graph_capture import capture
from bench.engine.minibatches import Schedule
from bench.engine.native_training import NativeTraining, native_training, segments
from bench.engine.private_torch import TreeSpec, tree_flatten, tree_map, tree_unflatten
from bench.engine.replica import Data, Fit, Model, Replica
from bench.engine.stack import Stack
from bench.engine.stacked_fits import StackedFits
from bench.engine.stacked_sweep import sweep
from bench.engine.training_record import TrainingRecord, require_scalars
from bench.engine.vectorise import replica_of
from methods.base import Method
from methods.maths.noise import Noise
from methods.problem import Step, Task

Execution = Literal["native", "captured", "eager"]


@torch.no_grad()
def train_stacked(
    method: Method,
    task: Task,
    data: Data,
    fits: Sequence[Fit],
    schedule: Schedule,
    *,
    standardise: bool = True,
    execution: Execution = "native",
    dtype: torch.dtype = torch.float32,
    stacked: bool = True,
    n_recorded: int = 0,
    on_update: Callable[[int], None] = lambda update: None,
) -> StackedFits:
    """Return the fits, trained together.

    Args:
        method: of all fits.
        task: of all fits.
        data: of all fits; held once.
        fits: B fits; they become R = B x `method.members` replicas.
        schedule: of all fits.
        standardise: False leaves x and y in original units.
        execution: "native" compiles the loop over updates (`bench.native`). Where that cannot be or would not pay, it
            is "captured" instead: the update's graph is captured once, and replayed (`bench.engine.graph_capture`).
            "eager" does neither.
        dtype: of weights and arithmetic.
        stacked: False trains one replica after the other, without `vmap` and eagerly.
        n_recorded: at how many evenly spaced updates diagnostics are recorded, at most. The other updates do not
            compute them, unless they are eager, and the numbers of the state do not depend on it.
        on_update: called with the number of each update when it is done.

    Raises:
        TypeError: if an update returns a state of another structure, or of other shapes or types, than it got, or
            diagnostics that are not tensors of shape ().
    """
    stack = Stack.of(Model(method, task, dtype), data, fits, standardise=standardise, parallel=stacked)
    record = TrainingRecord(schedule.plan.n_updates, n_recorded)
    training = _Training(stack, schedule, execution if stacked else "eager", record)
    state = training.run(on_update)
    if method.sweeps:
        state = sweep(stack, state)
    posterior = stack.vectorise(stack.model.finish)(stack.replicas, state)
    n_replicas = len(fits) * method.members
    posterior = tree_map(itemgetter(slice(n_replicas)), posterior)
    return StackedFits(tuple(fits), schedule, stack.first(n_replicas), posterior, record, training.execution)


class _Training:
    """The updates of a stack.

    Args:
        stack: R replicas.
        schedule: how many updates there are, and of which minibatches.
        execution: see `train_stacked`.
        record: takes diagnostics.
    """

    def __init__(self, stack: Stack, schedule: Schedule, execution: Execution, record: TrainingRecord):
        self._stack, self._schedule, self.execution, self._record = stack, schedule, execution, record

    def run(self, on_update: Callable[[int], None]) -> Any:
        """Return the state after the last update; every tensor has a leading axis of R."""
        stack, plan = self._stack, self._schedule.plan
        state = self._initial_state()
        phases = [stack.model.method.phase(update, plan) for update in range(1, plan.n_updates + 1)]
        shape = stack.model.method.batches_per_update, self._schedule.minibatch
        index, count = (
            stack.index(np.zeros(shape, dtype=np.int64)),
            torch.ones((), dtype=stack.model.dtype, device=stack.data.x.device),
        )
        needs = {phase: self._needs(phase, state, index, count) for phase in dict.fromkeys(phases)}
        noise = stack.noise("update", max(length for length, _ in needs.values()))
        updates = {
            phase: _Update(stack, phase, tree_flatten(state)[1], has_diagnostics, self.execution, self._record)
            for phase, (_, has_diagnostics) in needs.items()
        }
        native = (
            native_training(stack, self._schedule, state, noise, list(needs)) if self.execution == "native" else None
        )
        if native:
            return self._run_native(native, phases, updates, on_update)
        if self.execution == "native":
            self.execution = "captured"
        return self._replay(state, noise, phases, updates, on_update)

    def _run_native(
        self,
        native: NativeTraining,
        phases: Sequence[Hashable],
        updates: Mapping[Hashable, "_Update"],
        on_update: Callable[[int], None],
    ) -> Any:
        done = 0
        for rows in self._stack.minibatches(self._schedule):
            for part in segments(phases, done + 1, len(rows), self._record.wants):
                first = done + part.start + 1
                phase = phases[first - 1]
                if self._record.wants(first):
                    inputs = [self._stack.index(rows[part.start]), native.next_noise(), self._count(first)]
                    diagnostics = updates[phase].diagnostics([*inputs, *tree_flatten(native.state())[0]])
                    self._record.add(first, diagnostics)
                native.advance(phase, rows[part], first)
                for number in range(first, done + part.stop + 1):
                    on_update(number)
            done += len(rows)
        return native.state()

    def _replay(
        self,
        state: Any,
        noise: Iterator[Tensor],
        phases: Sequence[Hashable],
        updates: Mapping[Hashable, "_Update"],
        on_update: Callable[[int], None],
    ) -> Any:
        leaves, structure = tree_flatten(state)
        indices = (self._stack.index(rows) for block in self._stack.minibatches(self._schedule) for rows in block)
        for number, (phase, index) in enumerate(zip(phases, indices, strict=True), start=1):
            inputs = [index, next(noise), self._count(number), *leaves]
            if self._record.wants(number):
                self._record.add(number, updates[phase].diagnostics(inputs))
            leaves = updates[phase](inputs)
            on_update(number)
        return tree_unflatten(leaves, structure)

    def _count(self, number: int) -> Tensor:
        return torch.tensor(float(number), dtype=self._stack.model.dtype, device=self._stack.data.x.device)

    def _initial_state(self) -> Any:
        stack = self._stack
        first_replica = tree_map(replica_of, stack.replicas)
        length = stack.noise_length(lambda noise: stack.model.init(first_replica, noise))
        init = stack.vectorise(lambda replica, numbers: stack.model.init(replica, Noise(numbers)))
        return init(stack.replicas, next(stack.noise("init", length)))

    def _needs(self, phase: Any, state: Any, index: Tensor, count: Tensor) -> tuple[int, bool]:
        """Return how many random numbers one replica's update draws in a phase, and whether it has diagnostics."""
        model, data = self._stack.model, self._stack.data
        # A copy, because a model of another library may change in place.
        replica, state = deepcopy(tree_map(replica_of, (self._stack.replicas, state)))
        reported: dict[str, Tensor] = {}

        def update(noise: Noise) -> None:
            reported.update(model.update(replica, data.x, data.y, index, state, noise, Step(count, phase))[1])

        length = self._stack.noise_length(update)
        require_scalars(model.method.name, reported)
        return length, bool(reported)


class _Update:
    """The update of all replicas in one phase, whose graph is captured when it is first called.

    Args:
        stack: R replicas.
        phase: what `Method.phase` returned.
        structure: of the state.
        has_diagnostics: whether the method reports any in this phase.
        execution: see `train_stacked`.
        record: takes the time of computing diagnostics.
    """

    def __init__(
        self,
        stack: Stack,
        phase: Any,
        structure: TreeSpec,
        has_diagnostics: bool,
        execution: Execution,
        record: TrainingRecord,
    ):
        self._stack, self._phase, self._structure, self._has_diagnostics = stack, phase, structure, has_diagnostics
        self._execution, self._record = execution, record
        self._fixed, self._fixed_structure = tree_flatten((stack.replicas, stack.data.x, stack.data.y))
        self._step: Callable[..., list[Tensor]] | None = None

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the leaves of the next state.

        Args:
            inputs: row indices, noise, the number of the update, and the leaves of the state.
        """
        arguments = [*self._fixed, *inputs]
        if self._execution == "eager":
            return self._eager(*arguments)[0]
        if self._step is None:
            self._step = capture(lambda *leaves: self._eager(*leaves)[0], arguments, len(self._fixed)).forward
        return self._step(*arguments)

    def diagnostics(self, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        """Return the diagnostics (R,) of an update, which are always computed eagerly.

        To capture a graph with diagnostics takes longer than a few dozen eager updates.

        Args:
            inputs: as of a call.
        """
        if not self._has_diagnostics:
            return {}
        with self._record.timed(self._stack.data.x.device):
            return self._eager(*self._fixed, *inputs)[1]

    def _eager(self, *leaves: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
        replicas, x, y = tree_unflatten(leaves[: len(self._fixed)], self._fixed_structure)
        index, noise, count, *before = leaves[len(self._fixed) :]

        def update_one(replica: Replica, index: Tensor, state: Any, numbers: Tensor) -> tuple[Any, dict[str, Tensor]]:
            step = Step(count, self._phase)
            return self._stack.model.update(replica, x, y, index, state, Noise(numbers), step)

        update_all = self._stack.vectorise(update_one)
        state, diagnostics = update_all(replicas, index, tree_unflatten(before, self._structure), noise)
        after, structure = tree_flatten(state)
        given, returned = list(map(_signature, before)), list(map(_signature, after))
        if structure != self._structure or returned != given:
            raise TypeError(
                f"{self._stack.model.method.name}.update must return a state of the structure, shapes and types that "
                f"it got; got {given} in {self._structure}, returned {returned} in {structure}"
            )
        return after, diagnostics


def _signature(leaf: Any) -> str:
    return f"{leaf.dtype}{tuple(leaf.shape)}" if isinstance(leaf, Tensor) else type(leaf).__name__
