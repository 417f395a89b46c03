"""Training of a stack: R replicas advance together, one update after the other."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from operator import itemgetter
from typing import Any, Literal

import torch
from torch import Tensor

from bench.engine.graph_capture import capture
from bench.engine.minibatches import Schedule
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

Execution = Literal["captured", "eager", "compiled"]


@torch.no_grad()
def train_stacked(
    method: Method,
    task: Task,
    data: Data,
    fits: Sequence[Fit],
    schedule: Schedule,
    *,
    standardise: bool = True,
    execution: Execution = "captured",
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
        execution: "captured" captures the update's graph once and runs that (`bench.engine.graph_capture`). "compiled"
            also fuses the graph with `torch.compile`; its seconds of compilation pay for long runs only. "eager" does
            neither.
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
    state = _Training(stack, schedule, execution if stacked else "eager", record).run(on_update)
    if method.sweeps:
        state = sweep(stack, state)
    posterior = stack.vectorise(stack.model.finish)(stack.replicas, state)
    n_replicas = len(fits) * method.members
    posterior = tree_map(itemgetter(slice(n_replicas)), posterior)
    return StackedFits(tuple(fits), schedule, stack.first(n_replicas), posterior, record)


class _Training:
    """The updates of a stack.

    Args:
        stack: R replicas.
        schedule: how many updates there are, and of which minibatches.
        execution: see `train_stacked`.
        record: takes diagnostics.
    """

    def __init__(self, stack: Stack, schedule: Schedule, execution: Execution, record: TrainingRecord):
        self._stack, self._schedule, self._execution, self._record = stack, schedule, execution, record

    def run(self, on_update: Callable[[int], None]) -> Any:
        """Return the state after the last update; every tensor has a leading axis of R."""
        stack, plan = self._stack, self._schedule.plan
        state = self._initial_state()
        phases = [stack.model.method.phase(update, plan) for update in range(1, plan.n_updates + 1)]
        counts = torch.arange(1, plan.n_updates + 1, dtype=stack.model.dtype, device=stack.data.x.device)
        first_index = next(stack.minibatches(self._schedule))
        needs = {phase: self._needs(phase, state, first_index, counts[0]) for phase in dict.fromkeys(phases)}
        noise = stack.noise("update", max(length for length, _ in needs.values()))
        leaves, structure = tree_flatten(state)
        updates: dict[Any, _Update] = {}
        inputs = zip(phases, counts, stack.minibatches(self._schedule), strict=True)
        for number, (phase, count, index) in enumerate(inputs, start=1):
            if phase not in updates:
                updates[phase] = _Update(stack, phase, structure, needs[phase][1], self._execution, self._record)
            recorded = self._record.wants(number)
            leaves, diagnostics = updates[phase]([index, next(noise), count, *leaves], recorded)
            if recorded:
                self._record.add(number, diagnostics)
            on_update(number)
        return tree_unflatten(leaves, structure)

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
        replica, index, state = deepcopy(tree_map(replica_of, (self._stack.replicas, index, state)))
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

    def __call__(self, inputs: Sequence[Tensor], recorded: bool) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Return the leaves of the next state, and diagnostics (R,) if the update is `recorded`.

        The state always comes from one graph, so its numbers do not depend on which updates are recorded. Diagnostics
        come from an eager update: to capture a second graph takes longer than a few dozen of those.

        Args:
            inputs: row indices, noise, the number of the update, and the leaves of the state.
            recorded: whether diagnostics are wanted.
        """
        arguments = [*self._fixed, *inputs]
        if self._execution == "eager":
            return self._eager(*arguments)
        if self._step is None:
            self._step = capture(lambda *leaves: self._eager(*leaves)[0], arguments, len(self._fixed)).forward
            if self._execution == "compiled":
                self._step = torch.compile(self._step, fullgraph=True, dynamic=False)
        diagnostics = {}
        if recorded and self._has_diagnostics:
            with self._record.timed(self._stack.data.x.device):
                diagnostics = self._eager(*arguments)[1]
        return self._step(*arguments), diagnostics

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
