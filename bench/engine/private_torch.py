"""Private and experimental interfaces of torch. All uses in the project go through this module.

A new release of torch may change any of these without notice. Known to work with torch 2.6 to 2.13.

- `tree_flatten`, `tree_leaves`, `tree_map`, `tree_unflatten`, `TreeSpec` of `torch.utils._pytree`: states and
  posteriors of methods are nested tuples, dictionaries and named tuples of tensors. torch has no public name for these.
- `make_fx` of `torch.fx.experimental.proxy_tensor`: captures the operations of an update after the transforms `vmap`
  and `grad`. `torch.fx.symbolic_trace`, the public function, does not see through transforms.
- `aten`, that is `torch.ops.aten` with the overloads of its operators: the operators that a captured graph is made of.
- `OpOverload` of `torch._ops`: the type of an operator, with its `tags` and `_schema`.
"""

import torch
from torch._ops import OpOverload
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = [
    "OpOverload",
    "TreeSpec",
    "aten",
    "draws_random_numbers",
    "is_in_place",
    "make_fx",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_unflatten",
]

aten = torch.ops.aten


def draws_random_numbers(target: object) -> bool:
    """Return whether the target of a graph's node draws from a torch generator."""
    return isinstance(target, OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def is_in_place(target: object) -> bool:
    """Return whether the target of a graph's node changes one of its arguments."""
    return isinstance(target, OpOverload) and bool(target._schema.is_mutable)
