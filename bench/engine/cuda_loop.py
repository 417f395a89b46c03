"""Replay of the updates of many fits, or of one network for images, as CUDA graphs.

An update of small networks consists of a few hundred kernels. The CPU takes longer to launch each of them than the GPU
to run it. A CUDA graph launches several updates at once. It reads and writes fixed memory. Row indices, noise and the
update's number are therefore copied into buffers first. The last update of a graph writes the state to the buffers from
which the first update reads it.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

UPDATES_PER_GRAPH = 8
WARM_UP = 3  # updates before a graph is recorded, in which CUDA's libraries allocate what they keep

Step = Callable[..., Sequence[Tensor]]
Recorder = Callable[[Callable[[], None]], Callable[[], None]]


def record(work: Callable[[], None]) -> Callable[[], None]:
    """Record the kernels of `work` as a CUDA graph, and return a function that replays them.

    The tensors that `work` uses must keep their memory addresses.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def plainly(work: Callable[[], None]) -> Callable[[], None]:
    """Return `work` itself, which is then called instead of a graph."""
    return work


class GraphedUpdates:
    """Makes the updates of one phase, for all fits of a stack, `UPDATES_PER_GRAPH` of them with each CUDA graph.

    Args:
        step: function for one update. Its arguments are `fixed`, row indices, noise, the update's number and the
            tensors of the state; it returns the tensors of the next state.
        fixed: tensors that never change, such as hyper-parameters.
        record: turns a function into one that repeats its operations; by default, by a CUDA graph.
    """

    def __init__(self, step: Step, fixed: Sequence[Tensor], record: Recorder = record):
        self._step, self._fixed, self._record = step, fixed, record
        self._state: list[Tensor] = []
        self._graphs: dict[int, tuple[tuple[Tensor, Tensor, Tensor], Callable[[], None]]] = {}

    def __call__(self, index: Tensor, noise: Tensor, counts: Tensor, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Return the leaves of the state after U updates.

        Args:
            index: (U, R, L, M), rows of the minibatches of each update.
            noise: (U, R, T), random numbers of each update.
            counts: (U,), numbers of the updates.
            leaves: leaves of the state before the updates.

        Returns:
            Copies, which the next call does not change.
        """
        if not self._state:
            self._state = [leaf.clone() for leaf in leaves]
        self._load(leaves)
        for start in range(0, len(counts), UPDATES_PER_GRAPH):
            part = slice(start, start + UPDATES_PER_GRAPH)
            inputs = index[part], noise[part], counts[part]
            n_updates = len(inputs[2])
            if n_updates not in self._graphs:
                self._graphs[n_updates] = self._recorded(inputs)
            buffers, replay = self._graphs[n_updates]
            for buffer, values in zip(buffers, inputs, strict=True):
                buffer.copy_(values)
            replay()
        return [leaf.clone() for leaf in self._state]

    def _recorded(
        self, inputs: tuple[Tensor, Tensor, Tensor]
    ) -> tuple[tuple[Tensor, Tensor, Tensor], Callable[[], None]]:
        """Return buffers for the inputs of some updates, and a function that makes these updates."""
        index, noise, counts = (values.clone() for values in inputs)
        before = [leaf.clone() for leaf in self._state]

        def updates() -> None:
            leaves: Sequence[Tensor] = self._state
            for number in range(len(counts)):
                leaves = self._step(*self._fixed, index[number], noise[number], counts[number], *leaves)
            self._load(leaves)

        try:
            replay = self._record(updates)
        except RuntimeError:  # some factorisations wait for the GPU, which a graph cannot
            replay = updates
        self._load(before)  # recording made updates to warm up
        return (index, noise, counts), replay

    def _load(self, leaves: Sequence[Tensor]) -> None:
        """Copy leaves into the state's buffers. All are read before any is written: a leaf may be another's buffer."""
        for buffer, leaf in zip(self._state, [leaf.clone() for leaf in leaves], strict=True):
            buffer.copy_(leaf)
