"""Compiled training loops: one call makes many updates of all replicas."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from lockstep_bench.bench.native.arithmetic import Work, work_of
from lockstep_bench.bench.native.compiler import NoCompiler
from lockstep_bench.bench.native.costs import steps
from lockstep_bench.bench.native.delays import delay
from lockstep_bench.bench.native.fusion import fuse
from lockstep_bench.bench.native.lanes import Lanes, address, addresses, aligned
from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.libraries import compiled, lanes
from lockstep_bench.bench.native.lowering import lower
from lockstep_bench.bench.native.nests import bind
from lockstep_bench.bench.native.source import chains, source_of
from lockstep_bench.bench.native.threads import in_threads
from lockstep_bench.bench.native.values import Value


@dataclass(frozen=True)
class ExampleInputs:
    """Example tensors for the inputs of an update of one replica, besides hyper-parameters and state.

    Attributes:
        x: (N, P), features, shared by all replicas, float64.
        y: (N,), targets, shared by all replicas, float64.
        index: (L, M), row numbers of L minibatches.
        noise: (T,), random numbers.
        count: (), number of the update.
        full_batch: whether all updates use the same rows.
    """

    x: Tensor
    y: Tensor
    index: Tensor
    noise: Tensor
    count: Tensor
    full_batch: bool = False

    def tensors(self) -> tuple[Tensor, ...]:
        """Return all tensors, in the order of the attributes."""
        return self.x, self.y, self.index, self.noise, self.count


@dataclass(frozen=True)
class Loop:
    """A compiled loop for the updates of one phase (`Method.phase`) in one memory layout.

    Attributes:
        library: shared library with the functions `run`, `width` and `workspace_bytes`.
        chains: groups of state leaves whose buffers are swapped after each update (`bench.native.source.chains`).
        layout: layout of the memory.
        full_batch: whether all updates use the same rows.
    """

    library: ctypes.CDLL
    chains: tuple[tuple[int, ...], ...]
    layout: Layout
    full_batch: bool

    def blocks_of(self, n_replicas: int) -> Lanes:
        """Return the division of `n_replicas` replicas into the blocks that this loop needs."""
        return Lanes(int(self.library.width()), n_replicas, self.layout.slack)


class UpdateLoops:
    """The loops for the updates of one phase, one per memory layout. Each is compiled when it is first needed.

    Args:
        module: graph of the update of one replica: maps (*fixed, *streams, *state) to the leaves of the next state.
        examples: the value of every node of the graph for the example tensors.
        fixed: example tensors that stay the same during training, such as hyper-parameters, for one replica.
        streams: example tensors of data, minibatches and random numbers.
        state: example tensors of the state's leaves, for one replica.

    Raises:
        Unsupported: if an operation cannot be translated to C++.
    """

    def __init__(
        self,
        module: GraphModule,
        examples: Mapping[Node, Any],
        fixed: Sequence[Tensor],
        streams: ExampleInputs,
        state: Sequence[Tensor],
    ):
        self._fixed = [Value(tuple(leaf.shape), leaf.dtype, fixed=True) for leaf in fixed]
        data = [
            Value(tuple(leaf.shape), leaf.dtype, fixed=True, shared=True, pointer=pointer)
            for leaf, pointer in ((streams.x, "data_x"), (streams.y, "data_y"))
        ]
        self._index = Value(tuple(streams.index.shape), streams.index.dtype, fixed=streams.full_batch)
        self._noise, self._count = (
            Value(tuple(leaf.shape), leaf.dtype, fixed=False) for leaf in (streams.noise, streams.count)
        )
        self._state = [Value(tuple(leaf.shape), leaf.dtype, fixed=False) for leaf in state]
        self._program = lower(
            module, examples, [*self._fixed, *data, self._index, self._noise, self._count, *self._state]
        )
        delay(self._program)
        fuse(self._program)
        self._origins = bind(self._program, self._state)
        self._compiled: dict[bool, Loop | NoCompiler] = {}

    @cached_property
    def steps(self) -> tuple[float, float]:
        """Estimated times of an update of a block of replicas and of one alone, in cycles (`bench.native.costs`)."""
        block, single = (steps(self._program, Layout(across, lanes()), self._noise.size) for across in (True, False))
        return block, single

    @property
    def work(self) -> Work:
        """Operations and moved bytes of an update of one replica."""
        return work_of(self._program)

    def loop(self, across: bool) -> Loop:
        """Return the loop for one of the two layouts (`Layout.across`), compiled at the first call.

        Raises:
            NoCompiler: if the source cannot be compiled.
        """
        if across not in self._compiled:
            try:
                self._compiled[across] = self._compile(across)
            except NoCompiler as reason:  # to try again may take minutes
                self._compiled[across] = reason
        found = self._compiled[across]
        if isinstance(found, NoCompiler):
            raise found
        return found

    def source(self, across: bool) -> str:
        """Return the C++ source of the loop for one of the two layouts."""
        streams = self._index, self._noise, self._count
        layout = Layout(across, lanes())
        return source_of(self._program, self._fixed, self._state, self._origins, *streams, layout)

    def _compile(self, across: bool) -> Loop:
        library, layout = compiled(self.source(across)), Layout(across, lanes())
        return Loop(library, tuple(map(tuple, chains(self._origins))), layout, self._index.fixed)


class Replicas:
    """The state of R replicas in memory that compiled loops update.

    Args:
        lanes: division of the replicas into blocks.
        fixed: tensors (R, ...) that stay the same during training.
        x: (N, P), float64.
        y: (N,), float64.
        state: leaves of the state, (R, ...) each.
        generators: (R, 4), states of the SFC64 generators that draw the random numbers of the updates.
    """

    def __init__(
        self,
        lanes: Lanes,
        fixed: Sequence[Tensor],
        x: Tensor,
        y: Tensor,
        state: Sequence[Tensor],
        generators: np.ndarray,
    ):
        self._lanes = lanes
        self._like = list(state)
        self._fixed = [self._lanes.spread(leaf) for leaf in fixed]
        self._x, self._y = (np.ascontiguousarray(part.numpy(), dtype=np.float64) for part in (x, y))
        self._state = [self._lanes.spread(leaf) for leaf in state]
        self._next = [aligned(leaf.shape, leaf.dtype) for leaf in self._state]
        self._generators = self._lanes.spread(torch.from_numpy(generators.astype(np.uint64).view(np.int64)))

    def advance(self, loop: Loop, rows: np.ndarray, first_update: int) -> None:
        """Make U updates of all replicas, with as many threads as torch uses.

        Args:
            loop: the loop for the phase of these updates.
            rows: (U, R, L, M), row numbers of the minibatches.
            first_update: number of the first of these updates, from 1.
        """
        n_updates = len(rows)
        rows = np.ascontiguousarray(rows[:1] if loop.full_batch else rows, dtype=np.int64)

        def run(first: int, end: int) -> None:
            numbers = first, end, n_updates, first_update, self._lanes.n_replicas
            workspace = aligned((loop.library.workspace_bytes(),), np.dtype(np.uint8))
            loop.library.run(
                *map(ctypes.c_int64, numbers),
                *map(address, (self._x, self._y, rows)),
                *map(addresses, (self._fixed, self._state, self._next)),
                *map(address, (self._generators, workspace)),
            )

        in_threads(self._lanes.n_blocks, run)
        for chain in loop.chains:
            arrays = [self._next[chain[0]], *(self._state[number] for number in chain)]
            turns = n_updates % len(arrays)
            turned = arrays[-turns:] + arrays[:-turns] if turns else arrays
            self._next[chain[0]] = turned[0]
            for number, array in zip(chain, turned[1:], strict=True):
                self._state[number] = array

    def generators(self) -> np.ndarray:
        """Return the states of the random generators, (R, 4)."""
        return self._lanes.joined(self._generators).view(np.uint64)

    def state(self) -> list[Tensor]:
        """Return the leaves of the state as tensors (R, ...)."""
        pairs = zip(self._state, self._like, strict=True)
        return [torch.from_numpy(self._lanes.joined(leaf)).reshape(like.shape).to(like.dtype) for leaf, like in pairs]
