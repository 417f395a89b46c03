"""One operation of a graph, in the form that rules get, and helpers that rules share.

A rule takes the nests to add to, the operation, and the operator's own arguments with windows in place of tensors. It
returns a window onto the result, or a list of them.
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
    """One operation of a graph.

    Attributes:
        node: the operation's node in the graph.
        examples: what every node computes on the example inputs.
    """

    node: Node
    examples: Mapping[Node, Any]

    @property
    def example(self) -> Any:
        """Return the operation's result on the example inputs."""
        return self.examples[self.node]

    @property
    def shape(self) -> Shape:
        """Return the shape of the result."""
        return tuple(self.example.shape)


def axes_of(view: View, axes: Axes) -> list[int]:
    """Return axes as numbers from 0; all of them where none are given."""
    given = [axes] if isinstance(axes, int) else axes
    rank = len(view.shape)
    return [axis % rank for axis in given] if given and rank else list(range(rank))


def shaped(operation: Operation, view: View) -> View:
    """Return a window of the result's shape, which may have axes of length one that `view` lacks."""
    return view.like(view.meta().view(operation.shape))


def spread(view: View, axis: int) -> View:
    """Return a window with one more axis, of length one."""
    return view.like(view.meta().unsqueeze(axis))
