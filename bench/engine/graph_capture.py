"""Capture of the graph of an update's tensor operations, and removal of operations that need not be repeated.

An update runs tens of thousands of times on tensors of the same shapes. With few small networks, its time is
proportional to the number of operations. The captured graph contains no transforms such as `vmap` and `grad`. In-place
operations, which torch's derivatives use, become pure ones. In the graph,

- what depends only on the fixed arguments (hyper-parameters, standardisation) is computed once;
- the value of a loss is not computed where only its gradient is used;
- reshapes, expansions and casts that change nothing are removed;
- a batch of outer products, as in the gradient of one example, becomes one elementwise multiplication. As matrix
  products of inner size one, they would cost a library call per matrix, twenty times as much on a CPU;
- operators are called as torch's own functions, which parse their arguments faster. This saves a tenth to a quarter of
  an update's time (MAP and VIFA, 3 and 30 fits side by side, one core).
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node

from lockstep_bench.bench.engine.private_torch import aten, draws_random_numbers, is_in_place, make_fx

SHAPE_ONLY = {aten.ones_like.default, aten.zeros_like.default, aten.full_like.default}
RESHAPES = {aten.view.default, aten._unsafe_view.default, aten.expand.default, aten._to_copy.default}

DIRECT = {
    aten._unsafe_view.default: torch.Tensor.view,
    aten.abs.default: torch.abs,
    aten.add.Tensor: torch.add,
    aten.bmm.default: torch.bmm,
    aten.cat.default: torch.cat,
    aten.div.Tensor: torch.div,
    aten.exp.default: torch.exp,
    aten.expand.default: torch.Tensor.expand,
    aten.lerp.Scalar: torch.lerp,
    aten.log.default: torch.log,
    aten.mul.Scalar: torch.mul,
    aten.mul.Tensor: torch.mul,
    aten.neg.default: torch.neg,
    aten.permute.default: torch.permute,
    aten.pow.Tensor_Scalar: torch.pow,
    aten.reciprocal.default: torch.reciprocal,
    aten.select.int: torch.select,
    aten.sigmoid.default: torch.sigmoid,
    aten.split_with_sizes.default: torch.split_with_sizes,
    aten.sqrt.default: torch.sqrt,
    aten.sub.Tensor: torch.sub,
    aten.sum.dim_IntList: torch.sum,
    aten.transpose.int: torch.transpose,
    aten.unsqueeze.default: torch.unsqueeze,
    aten.view.default: torch.Tensor.view,
    aten.where.self: torch.where,
}


def capture(function: Callable[..., Any], arguments: Sequence[Tensor], n_fixed: int) -> GraphModule:
    """Return the simplified graph of `function`, to be run on arguments of the same shapes and types.

    Args:
        function: maps tensors to a sequence of tensors.
        arguments: example arguments.
        n_fixed: number of leading arguments that are the same, unchanged tensors at every call.

    Raises:
        RuntimeError: if the function draws from torch's global generator. The graph would repeat the numbers.
    """
    module = trace(function, arguments)
    if not any(is_in_place(node.target) for node in module.graph.nodes):
        values = values_of(module, arguments)
        _fold_constants(module, values, n_fixed)
        _remove_identities(module, values)
        _multiply_outer_products(module, values)
        module.graph.eliminate_dead_code()
        for node in module.graph.nodes:
            node.target = DIRECT.get(node.target, node.target)
    module.recompile()
    return module


def trace(function: Callable[..., Any], arguments: Sequence[Tensor]) -> GraphModule:
    """Return the graph of the tensor operations of `function`, without transforms and in-place operations.

    Args:
        function: maps tensors to a sequence of tensors.
        arguments: example arguments.

    Raises:
        RuntimeError: if the function draws from torch's global generator. The graph would repeat the numbers.
    """
    # A tensor given twice, such as the same zeros for two parts of a state, must not become one input.
    module = make_fx(torch.func.functionalize(function))(*(argument.view_as(argument) for argument in arguments))
    draws = [node.target for node in module.graph.nodes if draws_random_numbers(node.target)]
    if draws:
        raise RuntimeError(f"an update draws from torch's global generator ({draws[0]}); draw from `noise`")
    module.graph.eliminate_dead_code()
    return module


def values_of(module: GraphModule, arguments: Sequence[Tensor]) -> dict[Node, Any]:
    """Return the value that every node of a graph has on example arguments."""

    class Recorder(Interpreter):
        def run_node(self, node: Node) -> Any:
            values[node] = super().run_node(node)
            return values[node]

    values: dict[Node, Any] = {}
    Recorder(module).run(*arguments)
    return values


def _fold_constants(module: GraphModule, values: dict[Node, Any], n_fixed: int) -> None:
    """Replace every node that cannot change between calls by its value."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    fixed = set(placeholders[:n_fixed])
    for node in list(module.graph.nodes):
        if node.op == "get_attr":
            fixed.add(node)
        elif node.op == "call_function" and (node.target in SHAPE_ONLY or fixed.issuperset(node.all_input_nodes)):
            fixed.add(node)
            if isinstance(values[node], Tensor):
                fixed.add(_replace_by_constant(module, node, values))


def _replace_by_constant(module: GraphModule, node: Node, values: dict[Node, Any]) -> Node:
    name = f"constant_of_{node.name}"
    module.register_buffer(name, values[node])
    with module.graph.inserting_before(node):
        constant = module.graph.get_attr(name)
    values[constant] = values[node]
    node.replace_all_uses_with(constant)
    return constant


def _remove_identities(module: GraphModule, values: dict[Node, Any]) -> None:
    """Remove operations whose result is their first argument."""
    for node in module.graph.nodes:
        power_of_one = node.target is aten.pow.Tensor_Scalar and node.args[1] == 1
        if (node.target in RESHAPES or power_of_one) and isinstance(node.args[0], Node):
            before, after = values[node.args[0]], values[node]
            if (before.shape, before.dtype, before.device) == (after.shape, after.dtype, after.device):
                node.replace_all_uses_with(node.args[0])


def _multiply_outer_products(module: GraphModule, values: dict[Node, Any]) -> None:
    """Replace matrix products of inner size one by elementwise multiplications."""
    for node in module.graph.nodes:
        if node.target is aten.bmm.default and values[node.args[0]].shape[-1] == 1:
            node.target = aten.mul.Tensor
