"""One operation of a graph, which is the argument of translation rules, and helper functions for the rules.

A rule translates one operator to loop nests. Its arguments are the `Nests` to add to, the operation, and the operator's
own arguments with windows in place of tensors. It returns a window onto the result, or a list of windows. A window
(`bench.native.values.View`) is a strided view of a value, like a view of a tensor.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch.fx import Node

from lockstep_bench.bench.native.values import Shape, View

Rule = Callable[..., View | list[View]]
Axes = int | Sequence[int] | None


@dataclass(frozen=True)
class Operation:
    """One operation of a graph, with example values.

    Attributes:
        node: the operation's node in the graph.
        examples: the value of every node of the graph for the example inputs.
    """

    node: Node
    examples: Mapping[Node, Any]

    @property
    def example(self) -> Any:
        """Return the operation's result for the example inputs."""
        return self.examples[self.node]

    @property
    def shape(self) -> Shape:
        """Return the shape of the result."""
        return tuple(self.example.shape)


def axes_of(view: View, axes: Axes) -> list[int]:
    """Return axes as numbers counted from 0; all axes if none are given."""
    given = [axes] if isinstance(axes, int) else axes
    rank = len(view.shape)
    return [axis % rank for axis in given] if given and rank else list(range(rank))


def shaped(operation: Operation, view: View) -> View:
    """Return the window in the shape of the operation's result, which may have additional axes of length one."""
    return view.like(view.meta().view(operation.shape))


def spread(view: View, axis: int) -> View:
    """Return the window with an additional axis of length one, as `unsqueeze` does."""
    return view.like(view.meta().unsqueeze(axis))
