"""Training of a stack by native loops, see `bench.native`: hundreds of updates of all replicas in one call."""

import pickle
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.graph_capture import trace, values_of
from lockstep_bench.bench.engine.minibatches import Schedule
from lockstep_bench.bench.engine.private_torch import tree_flatten, tree_map, tree_unflatten
from lockstep_bench.bench.engine.random_streams import RandomStream, next_step
from lockstep_bench.bench.engine.stack import Stack
from lockstep_bench.bench.engine.vectorise import replica_of
from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.bench.native.loop import ExampleInputs, Loop, Replicas, compile_loop
from lockstep_bench.bench.native.values import Unsupported
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Step

# A loop takes 0.3 to 3 seconds to trace and compile where no cache has it. The choice depends on the plan alone, not on
# the stack or the cache, because the two ways of training differ by rounding.
MIN_UPDATES = 100
MAX_LOOPS = 64  # that a process remembers


def native_training(
    stack: Stack, schedule: Schedule, state: Any, noise: RandomStream, phases: Sequence[Hashable]
) -> "NativeTraining | None":
    """Return the native training of a stack, or None where it is trained otherwise.

    Args:
        stack: R replicas.
        schedule: how many updates there are.
        state: before the first update.
        noise: of all updates; nothing has been drawn from it.
        phases: all that occur.
    """
    model, data = stack.model, stack.data
    fits = (
        stack.parallel
        and model.dtype == torch.float32
        and data.x.dtype == torch.float64
        and data.x.device.type == "cpu"
    )
    if not fits or schedule.plan.n_updates < MIN_UPDATES:
        return None
    import os

    across = os.environ.get("LAYOUT") != "within"
    loops: dict[Hashable, Loop] = {}
    for phase in phases:
        loop = _loop(stack, schedule, state, noise.length, phase, across)
        if isinstance(loop, str):
            note_obstacle(model.method.name, loop)
            return None
        loops[phase] = loop
    return NativeTraining(stack, state, noise, loops)


def forget_loops() -> None:
    """Forget the loops of this process, so that the next ones are traced again."""
    _LOOPS.clear()


@contextmanager
def noted_obstacles() -> Iterator[dict[str, str]]:
    """Yield a dictionary that trainings in this context fill: method's name -> why it was not trained natively."""
    noted: dict[str, str] = {}
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def note_obstacle(method: str, reason: str) -> None:
    """Note for `noted_obstacles` why a method was not trained natively; its first reason stays."""
    _NOTED.get({}).setdefault(method, reason)


_NOTED: ContextVar[dict[str, str]] = ContextVar("obstacles to native training")

# By what they depend on; where a loop cannot be made, the reason, as to try again may take minutes.
_LOOPS: OrderedDict[Hashable, Loop | str] = OrderedDict()


class NativeTraining:
    """The updates of a stack, made by native loops.

    Args:
        stack: R replicas.
        state: before the first update.
        noise: of all updates.
        loops: one per phase.

    Attributes:
        at_once: the most updates that one call of `advance` should make.
    """

    at_once = 1 << 20

    def __init__(self, stack: Stack, state: Any, noise: RandomStream, loops: dict[Hashable, Loop]):
        leaves, self._structure = tree_flatten(state)
        fixed = tree_flatten(stack.replicas)[0]
        self._loops, self._noise, self._dtype = loops, noise, stack.model.dtype
        lanes = next(iter(loops.values())).blocks_of(len(leaves[0]))
        self._replicas = Replicas(lanes, fixed, stack.data.x, stack.data.y, leaves, noise.states())

    def state(self) -> Any:
        """Return the present state; every tensor has a leading axis of R."""
        return tree_unflatten(self._replicas.state(), self._structure)

    def next_noise(self) -> Tensor:
        """Return the noise (R, T) of the next update."""
        return next_step(self._replicas.generators(), self._noise.length, self._dtype)

    def advance(self, phase: Hashable, rows: np.ndarray, first_update: int) -> None:
        """Make updates of one phase.

        Args:
            phase: what `Method.phase` returned for each of them.
            rows: (U, R, L, M), rows of the minibatches of U updates.
            first_update: number of the first.
        """
        self._replicas.advance(self._loops[phase], rows, first_update)


def _loop(
    stack: Stack, schedule: Schedule, state: Any, noise_length: int, phase: Hashable, across: bool
) -> Loop | str:
    """Return the loop of a phase, or why there is none; from this process's memory if it has tried before."""
    model, data = stack.model, stack.data
    replica, before = tree_map(replica_of, (stack.replicas, state))
    fixed, replica_structure = tree_flatten(replica)
    leaves, structure = tree_flatten(before)
    index = torch.zeros(model.method.batches_per_update, schedule.minibatch, dtype=torch.int64)
    noise, count = torch.zeros(noise_length, dtype=model.dtype), torch.ones((), dtype=model.dtype)
    streams = ExampleInputs(data.x, data.y, index, noise, count)
    examples = [example.clone() for example in (*fixed, *streams.tensors(), *leaves)]
    key = _key(stack, (phase, across), examples)
    if key is not None and key in _LOOPS:
        _LOOPS.move_to_end(key)
        return _LOOPS[key]

    def update(*arguments: Tensor) -> list[Tensor]:
        n = len(fixed)
        x, y, rows, numbers, count = arguments[n : n + 5]
        result = model.update(
            tree_unflatten(arguments[:n], replica_structure),
            x,
            y,
            rows,
            tree_unflatten(arguments[n + 5 :], structure),
            Noise(numbers),
            Step(count, phase),
        )
        return tree_flatten(result[0])[0]

    loop: Loop | str
    try:
        graph = trace(update, examples)
        loop = compile_loop(graph, values_of(graph, examples), fixed, streams, leaves, across)
    except (Unsupported, NoCompiler) as reason:
        loop = str(reason)
    if key is not None:
        _LOOPS[key] = loop
        if len(_LOOPS) > MAX_LOOPS:
            _LOOPS.popitem(last=False)
    return loop


def _key(stack: Stack, phase: Hashable, examples: Sequence[Tensor]) -> Hashable | None:
    """Return what a loop depends on; None if the method or the task cannot be compared.

    Classes are compared as objects, because a pickle holds their names alone. In a notebook or a script, functions that
    an update calls may change under the same names as well, so no loop of such a method is remembered.
    """
    parts = stack.model.method, stack.model.likelihood, stack.model.network
    kinds = tuple(map(type, parts))
    if any(kind.__module__ == "__main__" for kind in kinds):
        return None
    try:
        described = pickle.dumps(parts)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return described, kinds, phase, tuple((tuple(example.shape), example.dtype) for example in examples)
