"""Training of a stack: R replicas advance together, one update after the other."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
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
        on_update: called with the number of each update when it is done.

    Raises:
        TypeError: if an update returns a state of another structure, or of other shapes or types, than it got.
    """
    stack = Stack.of(Model(method, task, dtype), data, fits, standardise=standardise, parallel=stacked)
    state = _Training(stack, schedule, execution if stacked else "eager").run(on_update)
    if method.sweeps:
        state = sweep(stack, state)
    posterior = stack.vectorise(stack.model.finish)(stack.replicas, state)
    n_replicas = len(fits) * method.members
    posterior = tree_map(itemgetter(slice(n_replicas)), posterior)
    return StackedFits(tuple(fits), schedule, stack.first(n_replicas), posterior)


class _Training:
    """The updates of a stack.

    Args:
        stack: R replicas.
        schedule: how many updates there are, and of which minibatches.
        execution: see `train_stacked`.
    """

    def __init__(self, stack: Stack, schedule: Schedule, execution: Execution):
        self._stack, self._schedule, self._execution = stack, schedule, execution

    def run(self, on_update: Callable[[int], None]) -> Any:
        """Return the state after the last update; every tensor has a leading axis of R."""
        stack, plan = self._stack, self._schedule.plan
        state = self._initial_state()
        phases = [stack.model.method.phase(update, plan) for update in range(1, plan.n_updates + 1)]
        counts = torch.arange(1, plan.n_updates + 1, dtype=stack.model.dtype, device=stack.data.x.device)
        first_index = next(stack.minibatches(self._schedule))
        noise = stack.noise(
            "update",
            max(self._noise_length(phase, state, first_index, counts[0]) for phase in dict.fromkeys(phases)),
        )
        leaves, structure = tree_flatten(state)
        steps: dict[Any, Callable[..., list[Tensor]]] = {}
        inputs = zip(phases, counts, stack.minibatches(self._schedule), strict=True)
        for update, (phase, count, index) in enumerate(inputs, start=1):
            arguments = index, next(noise), count
            if phase not in steps:
                steps[phase] = self._step(phase, leaves, structure, arguments)
            leaves = steps[phase](*arguments, *leaves)
            on_update(update)
        return tree_unflatten(leaves, structure)

    def _initial_state(self) -> Any:
        stack = self._stack
        first_replica = tree_map(replica_of, stack.replicas)
        length = stack.noise_length(lambda noise: stack.model.init(first_replica, noise))
        init = stack.vectorise(lambda replica, numbers: stack.model.init(replica, Noise(numbers)))
        return init(stack.replicas, next(stack.noise("init", length)))

    def _step(
        self, phase: Any, state: list[Tensor], structure: TreeSpec, examples: tuple[Tensor, Tensor, Tensor]
    ) -> Callable[..., list[Tensor]]:
        """Return the update of one phase: (index, noise, count, *leaves of the state) to the next state's leaves."""
        stack = self._stack
        fixed, fixed_structure = tree_flatten((stack.replicas, stack.data.x, stack.data.y))

        def update(*leaves: Tensor) -> list[Tensor]:
            replicas, x, y = tree_unflatten(leaves[: len(fixed)], fixed_structure)
            index, noise, count, *before = leaves[len(fixed) :]

            def update_one(replica: Replica, index: Tensor, state: Any, numbers: Tensor) -> Any:
                return stack.model.update(replica, x, y, index, state, Noise(numbers), Step(count, phase))

            state, _ = stack.vectorise(update_one)(replicas, index, tree_unflatten(before, structure), noise)
            after, after_structure = tree_flatten(state)
            self._require_same(before, structure, after, after_structure)
            return after

        if self._execution == "eager":
            return partial(update, *fixed)
        step = capture(update, [*fixed, *examples, *state], len(fixed)).forward
        if self._execution == "compiled":
            step = torch.compile(step, fullgraph=True, dynamic=False)
        return partial(step, *fixed)

    def _require_same(
        self, before: list[Any], structure: TreeSpec, after: list[Any], after_structure: TreeSpec
    ) -> None:
        given, returned = list(map(_signature, before)), list(map(_signature, after))
        if after_structure != structure or returned != given:
            raise TypeError(
                f"{self._stack.model.method.name}.update must return a state of the structure, shapes and types that "
                f"it got; got {given} in {structure}, returned {returned} in {after_structure}"
            )

    def _noise_length(self, phase: Any, state: Any, index: Tensor, count: Tensor) -> int:
        """Return how many random numbers one replica's update draws in a phase."""
        model, data = self._stack.model, self._stack.data
        # A copy, because a model of another library may change in place.
        replica, index, state = deepcopy(tree_map(replica_of, (self._stack.replicas, index, state)))
        step = Step(count, phase)
        return self._stack.noise_length(lambda noise: model.update(replica, data.x, data.y, index, state, noise, step))


def _signature(leaf: Any) -> str:
    return f"{leaf.dtype}{tuple(leaf.shape)}" if isinstance(leaf, Tensor) else type(leaf).__name__
