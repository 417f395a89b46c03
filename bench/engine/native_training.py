"""Training of a stack by loops compiled to native code (`bench.native`): one call makes hundreds of updates.

A stack consists of R replicas: networks with the same method and task, which are updated together.
"""

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
from lockstep_bench.bench.native.costs import replicas_across
from lockstep_bench.bench.native.libraries import lanes
from lockstep_bench.bench.native.loop import ExampleInputs, Replicas, UpdateLoops
from lockstep_bench.bench.native.values import Unsupported
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.problem import Step

# A loop takes 0.3 to 3 seconds to trace and compile where no cache has it. The choice depends only on the plan, not on
# the stack or the cache, because the two ways of training differ by rounding.
MIN_UPDATES = 100
MAX_LOOPS = 64  # that a process remembers


def native_training(
    stack: Stack, schedule: Schedule, state: Any, noise: RandomStream, phases: Sequence[Hashable]
) -> "NativeTraining | None":
    """Return the native training of a stack, or None if it cannot be compiled or would not be faster.

    Args:
        stack: the R replicas to train.
        schedule: schedule of the fits, which gives the number of updates.
        state: state before the first update.
        noise: random numbers of all updates; none has been drawn yet.
        phases: all values of `Method.phase` that occur.
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
    loops = translated(stack, schedule, state, noise.length, phases)
    if isinstance(loops, str):
        note_obstacle(model.method.name, loops)
        return None
    try:
        return NativeTraining(stack, state, noise, loops)
    except NoCompiler as reason:
        note_obstacle(model.method.name, str(reason))
        return None


def translated(
    stack: Stack, schedule: Schedule, state: Any, noise_length: int, phases: Sequence[Hashable]
) -> dict[Hashable, UpdateLoops] | str:
    """Return the loops of each phase, not compiled yet, or the reason why an update cannot be translated to C++.

    Args:
        stack: the R replicas to train.
        schedule: schedule of the fits.
        state: state before the first update.
        noise_length: T, number of random numbers of an update.
        phases: all values of `Method.phase` that occur.
    """
    found: dict[Hashable, UpdateLoops] = {}
    for phase in phases:
        loops = _loops(stack, schedule, state, noise_length, phase)
        if isinstance(loops, str):
            return loops
        found[phase] = loops
    return found


@contextmanager
def noted_obstacles() -> Iterator[dict[str, str]]:
    """Yield a dictionary that training in the `with` block fills: method name -> why it was not trained natively."""
    noted: dict[str, str] = {}
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def note_obstacle(method: str, reason: str) -> None:
    """Note why a method was not trained natively, for `noted_obstacles`; only its first reason is kept."""
    _NOTED.get({}).setdefault(method, reason)


_NOTED: ContextVar[dict[str, str]] = ContextVar("obstacles to native training")

# By what they depend on; where a loop cannot be made, the reason, as to try again may take minutes.
_LOOPS: OrderedDict[Hashable, UpdateLoops | str] = OrderedDict()


class NativeTraining:
    """Makes the updates of a stack by native loops.

    Two kinds of loops use the processor's vector registers in different ways. The first replicas are computed several
    at a time, one per vector lane, if that is faster. The others are computed one by one, with all lanes for one
    replica.

    Args:
        stack: the R replicas to train.
        state: state before the first update.
        noise: random numbers of all updates.
        loops: the loops by phase.

    Attributes:
        at_once: largest number of updates that one call of `advance` should make.
        loops: the loops by phase.

    Raises:
        NoCompiler: if a loop cannot be compiled.
    """

    at_once = 1 << 20

    def __init__(self, stack: Stack, state: Any, noise: RandomStream, loops: dict[Hashable, UpdateLoops]):
        leaves, self._structure = tree_flatten(state)
        fixed, generators = tree_flatten(stack.replicas)[0], noise.states()
        self.loops, self._noise, self._dtype = loops, noise, stack.model.dtype
        self._n_replicas, n_replicas = len(leaves[0]), stack.n_different
        block, single = map(sum, zip(*(phase.steps for phase in loops.values()), strict=True))
        n_across = replicas_across(n_replicas, lanes(), block, single)
        self._groups = []
        for across, part in ((True, slice(0, n_across)), (False, slice(n_across, n_replicas))):
            if part.stop > part.start:
                compiled = {phase: both.loop(across) for phase, both in loops.items()}
                own = [leaf[part] for leaf in fixed], [leaf[part] for leaf in leaves]
                blocks = next(iter(compiled.values())).blocks_of(len(own[1][0]))
                replicas = Replicas(blocks, own[0], stack.data.x, stack.data.y, own[1], generators[part])
                self._groups.append((part, compiled, replicas))

    def state(self) -> Any:
        """Return the current state of all replicas; every tensor has a leading axis of length R."""
        states = [replicas.state() for _, _, replicas in self._groups]
        leaves = [torch.cat(parts) for parts in zip(*states, strict=True)]
        return tree_unflatten([leaf.expand(self._n_replicas, *leaf.shape[1:]) for leaf in leaves], self._structure)

    def next_noise(self) -> Tensor:
        """Return the random numbers (R, T) of the next update."""
        generators = np.concatenate([replicas.generators() for _, _, replicas in self._groups])
        return next_step(np.broadcast_to(generators, (self._n_replicas, 4)), self._noise.length, self._dtype)

    def advance(self, phase: Hashable, rows: np.ndarray, first_update: int) -> None:
        """Make U updates that belong to one phase.

        Args:
            phase: value of `Method.phase` for all of these updates.
            rows: (U, R, L, M), row numbers of the minibatches of each update and replica.
            first_update: number of the first of these updates, from 1.
        """
        for part, loops, replicas in self._groups:
            replicas.advance(loops[phase], rows[:, part], first_update)


def _loops(stack: Stack, schedule: Schedule, state: Any, noise_length: int, phase: Hashable) -> UpdateLoops | str:
    """Return the loops of a phase, or the reason why there are none; the result is cached in this process."""
    model, data = stack.model, stack.data
    replica, before = tree_map(replica_of, (stack.replicas, state))
    fixed, replica_structure = tree_flatten(replica)
    leaves, structure = tree_flatten(before)
    index = torch.zeros(model.method.batches_per_update, schedule.minibatch, dtype=torch.int64)
    noise, count = torch.zeros(noise_length, dtype=model.dtype), torch.ones((), dtype=model.dtype)
    streams = ExampleInputs(data.x, data.y, index, noise, count, model.method.full_batch)
    examples = [example.clone() for example in (*fixed, *streams.tensors(), *leaves)]
    key = _key(stack, phase, examples)
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

    loops: UpdateLoops | str
    try:
        graph = trace(update, examples)
        loops = UpdateLoops(graph, values_of(graph, examples), fixed, streams, leaves)
    except Unsupported as reason:
        loops = str(reason)
    if key is not None:
        _LOOPS[key] = loops
        if len(_LOOPS) > MAX_LOOPS:
            _LOOPS.popitem(last=False)
    return loops


def _key(stack: Stack, phase: Hashable, examples: Sequence[Tensor]) -> Hashable | None:
    """Return a key of everything that a loop depends on; None if the method or the task cannot be compared.

    Classes are compared as objects, because a pickle holds only their names. In a notebook or a script, functions that
    an update calls may change under the same names as well, so no loop of a method defined there is remembered.
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
