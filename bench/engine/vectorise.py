"""From the mathematics of one model to a function of R models: the same code for all at once, or for one at a time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap
from torch.utils._pytree import tree_leaves, tree_map


def lockstep(function: Callable, shared: tuple[bool, ...]) -> Callable:
    """`function` over a leading row axis of every argument that is not shared, all rows in one computation."""
    return vmap(function, in_dims=tuple(None if one else 0 for one in shared))


def one_by_one(function: Callable, shared: tuple[bool, ...]) -> Callable:
    """The same by calling `function` itself on one row after the other, without any transform."""

    def lifted(*arguments):
        own = [argument for argument, one in zip(arguments, shared, strict=True) if not one]
        n_rows = len(tree_leaves(own)[0])
        results = [
            function(
                *(
                    argument if one else tree_map(partial(row_of, number=number), argument)
                    for argument, one in zip(arguments, shared, strict=True)
                )
            )
            for number in range(n_rows)
        ]
        return tree_map(_stacked, *results)

    return lifted


class PerRow:
    """A leaf that is no tensor, as the state of a foreign library's model is, of each row."""

    def __init__(self, items: Sequence[Any]):
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, which: int | slice) -> Any:
        return PerRow(self._items[which]) if isinstance(which, slice) else self._items[which]


def row_of(leaf: Tensor | PerRow, number: int = 0) -> Any:
    """A leaf of a stacked pytree as one row sees it."""
    return leaf[number]


def _stacked(*leaves: Any) -> Tensor | PerRow:
    if not isinstance(leaves[0], Tensor):
        return PerRow(leaves)
    # One large network is not worth a copy of its weights per step.
    return leaves[0][None] if len(leaves) == 1 else torch.stack(leaves)
