"""The private and experimental interfaces of torch that this project uses; all uses go through this module.

A new release of torch may change any of these without notice. Known to work with torch 2.13; before `map_aggregate`
and `_LazyGraphModule` were used, also with 2.6 to 2.12.

- `tree_flatten`, `tree_leaves`, `tree_map`, `tree_unflatten`, `tree_flatten_with_path`, `keystr`, `TreeSpec` of
  `torch.utils._pytree`: states and posteriors of methods are nested tuples, dictionaries and named tuples of tensors.
  torch has no public name for these.
- `TorchDispatchMode` of `torch.utils._python_dispatch`: shows `make_fx` the operations of an update after the
  transforms `vmap` and `grad`. `torch.fx.symbolic_trace`, the public function, does not see through transforms.
- `map_aggregate` of `torch.fx.node`: arguments of operators are nested tuples, lists and dictionaries of tensors, for
  which it takes a fraction of the time of `tree_map`.
- `_LazyGraphModule` of `torch.fx`: a graph whose Python code is made when it first runs. Native loops need no code.
- `torch._dynamo`, whose import takes 0.8 seconds: see `DynamoOnDemand`.
- `torch.fx.experimental.symbolic_shapes`, which imports SymPy in 0.9 seconds: see `ShapesOnDemand`.
- `aten`, that is `torch.ops.aten` with the overloads of its operators: the operators that a captured graph is made of.
- `OpOverload` of `torch._ops`: the type of an operator, with its `tags` and `_schema`.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from operator import eq, getitem
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.node import map_aggregate
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import (
    TreeSpec,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

__all__ = [
    "OpOverload",
    "TreeSpec",
    "aten",
    "draws_random_numbers",
    "is_in_place",
    "keystr",
    "make_fx",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_map",
    "tree_unflatten",
]

aten = torch.ops.aten


def draws_random_numbers(target: object) -> bool:
    """Return whether the operator of a graph's node, `target`, draws from a torch random generator."""
    return isinstance(target, OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def is_in_place(target: object) -> bool:
    """Return whether the operator of a graph's node, `target`, changes one of its arguments in place."""
    return isinstance(target, OpOverload) and bool(target._schema.is_mutable)


def make_fx(function: Callable[..., Any]) -> Callable[..., GraphModule]:
    """Return a function that runs `function` on example arguments and returns the graph of its operations.

    The graph is the same as from `torch.fx.experimental.proxy_tensor.make_fx`. It takes a sixth of the time, and does
    not import torch's compiler.

    Args:
        function: maps tensors to a pytree of tensors. It must not read the value of a tensor.
    """

    def traced(*arguments: Tensor) -> GraphModule:
        recorder = _Recorder()
        for number, argument in enumerate(arguments):
            recorder.note(argument, recorder.graph.placeholder(f"argument_{number}"))
        with recorder:
            result = function(*arguments)
        recorder.graph.output(recorder.nodes_of(result))
        return _LazyGraphModule(recorder.constants, recorder.graph)

    return traced


class _Recorder(TorchDispatchMode):
    """Records operations in `graph` while they are computed; `constants` are the tensors that come from outside."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.graph, self.constants = Graph(), dict[str, Tensor]()
        self._nodes: dict[int, Node] = {}
        self._noted: list[Tensor] = []  # an id belongs to one tensor as long as that lives

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # to skip torch's compiler is to import it

    def note(self, tensor: Tensor, node: Node) -> None:
        """Note which node a tensor comes from."""
        self._nodes[id(tensor)] = node
        self._noted.append(tensor)

    def nodes_of(self, tree: Any) -> Any:
        """Return nested tuples, lists and dictionaries with nodes in place of their tensors."""
        return map_aggregate(tree, lambda leaf: self._node_of(leaf) if isinstance(leaf, Tensor) else leaf)

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = func.name()
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"):
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        if torch.Tag.data_dependent_output in func.tags:
            raise RuntimeError(f"{func} reads the value of a tensor, which differs from update to update")
        if func is aten.lift_fresh.default:  # of a new tensor, which the graph keeps as a constant
            func = aten.lift_fresh_copy.default
        result = func(*args, **kwargs)
        node = self.graph.call_function(func, *self.nodes_of((tuple(args), kwargs)))
        if isinstance(result, Tensor):
            self.note(result, node)
        elif isinstance(result, tuple | list):
            for number, part in enumerate(result):
                if isinstance(part, Tensor):
                    self.note(part, self.graph.call_function(getitem, (node, number)))
        return result

    def _node_of(self, tensor: Tensor) -> Node:
        if id(tensor) not in self._nodes:
            name = f"constant_{len(self.constants)}"
            self.constants[name] = tensor
            self.note(tensor, self.graph.get_attr(name))
        return self._nodes[id(tensor)]


class DynamoOnDemand:
    """Placeholder for the module `torch._dynamo` (torch's compiler), which imports it when it is really needed.

    `torch.func.grad` only asks it to disable compiled gradients. Before the import these cannot be enabled, so the
    placeholder does nothing.
    """

    compiled_autograd = SimpleNamespace(_disable=nullcontext)

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("torch._dynamo"), name)


if "torch._dynamo" not in sys.modules:
    vars(torch)["_dynamo"] = DynamoOnDemand()  # the import of the module replaces it


class ShapesOnDemand(ModuleType):
    """Placeholder for `torch.fx.experimental.symbolic_shapes`, which imports the module when it is really needed.

    `torch.func.vjp` only compares two sizes by it, and operations on shapes broadcast two of them. Outside torch's
    compiler, sizes are integers, for which its functions are trivial.
    """

    sym_eq = staticmethod(eq)
    expect_true = guard_or_false = guard_size_oblivious = guarding_hint_or_throw = staticmethod(lambda value: value)
    has_guarding_hint = staticmethod(lambda size: True)
    is_nested_int = staticmethod(lambda size: False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


SHAPES = "torch.fx.experimental.symbolic_shapes"
if SHAPES not in sys.modules:
    sys.modules[SHAPES] = ShapesOnDemand(SHAPES)
