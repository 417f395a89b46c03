"""Loop over networks with the interface of `torch.func.vmap`: a function of one network becomes a function of R.

`torch.func.vmap` computes all networks (replicas) at once. `one_by_one` computes one after the other.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lockstep_bench.bench.engine.private_torch import tree_leaves, tree_map


def one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that maps `function` over a leading axis of every argument, one replica after the other.

    Args:
        function: maps pytrees of one replica to a pytree.

    Returns:
        A function that maps the same pytrees, with a leading axis of R replicas at every leaf, to a pytree with that
        axis. Leaves of the result that are not tensors become `PerReplica`.
    """

    def vectorised(*arguments: Any) -> Any:
        n_replicas = len(tree_leaves(arguments)[0])
        results = [function(*tree_map(partial(replica_of, number=number), arguments)) for number in range(n_replicas)]
        return tree_map(_stacked, *results)

    return vectorised


class PerReplica:
    """Objects other than tensors, such as models of another library, one for each replica; a leaf of a pytree.

    Args:
        items: the objects, one per replica.
    """

    def __init__(self, items: Sequence[Any]):
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, which: int | slice) -> Any:
        return PerReplica(self._items[which]) if isinstance(which, slice) else self._items[which]


def replica_of(leaf: Tensor | PerReplica, number: int = 0) -> Any:
    """Return the part of a stacked leaf that belongs to replica `number`."""
    return leaf[number]


def numbers_in(posterior: Any) -> int:
    """Return how many numbers the tensors and arrays of a pytree hold; those inside other objects are not counted."""
    count = 0
    for leaf in tree_leaves(posterior):
        if isinstance(leaf, PerReplica):
            count += sum(numbers_in(leaf[number]) for number in range(len(leaf)))
        elif isinstance(leaf, Tensor | np.ndarray):
            count += leaf.nbytes // leaf.itemsize
    return count


def _stacked(*leaves: Any) -> Tensor | PerReplica:
    if not isinstance(leaves[0], Tensor):
        return PerReplica(leaves)
    # Copying the weights of one large network at every step would cost time for nothing.
    return leaves[0][None] if len(leaves) == 1 else torch.stack(leaves)
