"""The update of a stack's networks as a function of tensors, and the replay of its captured graph."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.cuda_loop import GraphedUpdates
from lockstep_bench.bench.engine.graph_capture import capture
from lockstep_bench.bench.engine.private_torch import TreeSpec, tree_flatten, tree_map, tree_unflatten
from lockstep_bench.bench.engine.random_streams import RandomStream
from lockstep_bench.bench.engine.signatures import require_equal
from lockstep_bench.bench.engine.stack import Stack
from lockstep_bench.bench.engine.training_record import require_scalars
from lockstep_bench.bench.engine.vectorise import replica_of
from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.problem import Step


class UpdateNeeds(NamedTuple):
    """Number of random numbers of an update of one network, and whether it returns diagnostics.

    Attributes:
        noise_length: number of random numbers that the update draws.
        has_diagnostics: whether the update returns diagnostics.
    """

    noise_length: int
    has_diagnostics: bool


def needs_of(stack: Stack, state: Any, index: Tensor, phase: Hashable) -> UpdateNeeds:
    """Make one update on trial, and return how many random numbers it draws and whether it returns diagnostics.

    Args:
        stack: R replicas (networks that are trained together).
        state: state of all replicas.
        index: (L, M), row numbers of one replica's minibatches.
        phase: value of `Method.phase` for the update.

    Raises:
        TypeError: if the update changes the state's structure, shapes or types, or returns diagnostics that are not
            tensors of shape ().
    """
    model, data = stack.model, stack.data
    # A copy, because a model of another library may change in place.
    replica, before = deepcopy(tree_map(replica_of, (stack.replicas, state)))
    noise = NoiseGauge(model.dtype, data.x.device)
    step = Step(torch.ones((), dtype=model.dtype, device=data.x.device), phase)
    after, diagnostics = model.update(replica, data.x, data.y, index, before, noise, step)
    require_equal(model.method.name, before, after)
    require_scalars(f"{model.method.name}.update", diagnostics)
    return UpdateNeeds(noise.used, bool(diagnostics))


class Update:
    """The update of all replicas in one phase, as a function of flat lists of tensors, run eagerly with all checks.

    Args:
        stack: R replicas (networks that are trained together).
        phase: value of `Method.phase` for these updates.
        structure: pytree structure of the state, whose leaves are the tensors.
    """

    def __init__(self, stack: Stack, phase: Hashable, structure: TreeSpec):
        self._stack, self._phase, self._structure = stack, phase, structure
        replicas, self._replica_structure = tree_flatten(stack.replicas)
        self.fixed = [*replicas, stack.data.x, stack.data.y]

    def __call__(self, *leaves: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Return the leaves of the next state, and diagnostics (R,).

        Args:
            leaves: `fixed`, row indices (R, L, M), noise (R, T), the number of the update, the leaves of the state.

        Raises:
            TypeError: if the method returns a state of another structure, or of other shapes or types, than it got.
        """
        n = len(self.fixed)
        *replicas, x, y = leaves[:n]
        index, noise, count, *before = leaves[n:]
        structures: list[TreeSpec] = []

        def update_one(index: Tensor, numbers: Tensor, *leaves: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
            replica, state = self._unflattened(leaves)
            step = Step(count, self._phase)
            state, diagnostics = self._stack.model.update(replica, x, y, index, state, Noise(numbers), step)
            after, structure = tree_flatten(state)
            structures.append(structure)
            return after, diagnostics

        # Of flat lists, because torch takes long to flatten nested tuples.
        after, diagnostics = self._stack.vectorise(update_one)(index, noise, *replicas, *before)
        if structures[-1] != self._structure or any(map(_differ, before, after)):
            states = tree_unflatten(before, self._structure), tree_unflatten(after, structures[-1])
            require_equal(self._stack.model.method.name, *states)
        return after, diagnostics

    def diagnostics_of_one(self) -> Callable[..., dict[str, Tensor]]:
        """Return a function of one network in one update that returns diagnostics, () each.

        Its arguments are the number of the update, row indices (L, M), noise (T,), and the leaves of the replica and of
        the state.
        """
        x, y = self.fixed[-2:]

        def diagnostics(count: Tensor, index: Tensor, numbers: Tensor, *leaves: Tensor) -> dict[str, Tensor]:
            replica, state = self._unflattened(leaves)
            step = Step(count, self._phase)
            return self._stack.model.update(replica, x, y, index, state, Noise(numbers), step)[1]

        return diagnostics

    def _unflattened(self, leaves: Sequence[Tensor]) -> tuple[Any, Any]:
        """Return a replica and its state from their leaves."""
        n = len(self.fixed) - 2
        return tree_unflatten(leaves[:n], self._replica_structure), tree_unflatten(leaves[n:], self._structure)


def _differ(before: Tensor, after: Any) -> bool:
    """Return whether shapes or types differ. To describe them by `require_equal` takes a fifth of an eager update."""
    return not isinstance(after, Tensor) or before.shape != after.shape or before.dtype != after.dtype


class ReplayedTraining:
    """Makes the updates of a stack, eagerly or by replaying a graph that is captured at the first update.

    On a GPU the graph is replayed several updates at a time, see `bench.engine.cuda_loop`.

    Args:
        stack: R replicas (networks that are trained together).
        state: state before the first update.
        noise: random numbers of all updates.
        updates: the update of each phase.
        captured: whether graphs are captured and replayed.

    Attributes:
        at_once: largest number of updates that one call of `advance` should make.
    """

    def __init__(
        self, stack: Stack, state: Any, noise: RandomStream, updates: Mapping[Hashable, Update], captured: bool
    ):
        self._leaves, self._structure = tree_flatten(state)
        self._stack, self._noise, self._updates, self._captured = stack, noise, updates, captured
        self._graphed = captured and has_graphs(stack.data.x.device)
        self.at_once = 64 if self._graphed else 1
        self._steps: dict[Hashable, Callable[..., Sequence[Tensor]]] = {}
        self._drawn: list[Tensor] = []

    def state(self) -> Any:
        """Return the current state of all replicas; every tensor has a leading axis of length R."""
        return tree_unflatten(self._leaves, self._structure)

    def next_noise(self) -> Tensor:
        """Return the random numbers (R, T) of the next update."""
        if not self._drawn:
            self._drawn.append(next(self._noise))
        return self._drawn[0]

    def advance(self, phase: Hashable, rows: np.ndarray, first_update: int) -> None:
        """Make U updates that belong to one phase.

        Args:
            phase: value of `Method.phase` for all of these updates.
            rows: (U, R, L, M), row numbers of the minibatches of each update and replica.
            first_update: number of the first of these updates, from 1.
        """
        index, noise = self._stack.index(rows), list(self._taken(len(rows)))
        numbers = range(first_update, first_update + len(rows))
        counts = torch.tensor(numbers, dtype=self._stack.model.dtype, device=index.device)
        update = self._updates[phase]
        if self._captured and phase not in self._steps:
            self._steps[phase] = self._step(update, [index[0], noise[0], counts[0], *self._leaves])
        if self._graphed:
            self._leaves = list(self._steps[phase](index, torch.stack(noise), counts, self._leaves))
            return
        for inputs in zip(index, noise, counts, strict=True):
            leaves = *update.fixed, *inputs, *self._leaves
            self._leaves = list(self._steps[phase](*leaves)) if self._captured else update(*leaves)[0]

    def _taken(self, count: int) -> Iterator[Tensor]:
        for _ in range(count):
            yield self._drawn.pop() if self._drawn else next(self._noise)

    def _step(self, update: Update, inputs: Sequence[Tensor]) -> Callable[..., Sequence[Tensor]]:
        """Return the captured update; on a GPU, a CUDA graph of several updates."""
        step = capture(lambda *leaves: update(*leaves)[0], [*update.fixed, *inputs], len(update.fixed)).forward
        return GraphedUpdates(step, update.fixed) if self._graphed else step


def has_graphs(device: torch.device) -> bool:
    """Return whether a device can replay CUDA graphs of several updates."""
    return device.type == "cuda"
