"""Translation of the graph of one replica's update to loop nests; views only change strides and cost nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from lockstep_bench.bench.native.nests import Nests
from lockstep_bench.bench.native.operation import Operation
from lockstep_bench.bench.native.operators import (
    COMPARE,
    COPIES,
    ELEMENTWISE,
    LOGICAL,
    N_OPERANDS,
    RESHAPES,
    SHAPE_ONLY,
    VIEWS,
    aten,
    converted,
    literal,
)
from lockstep_bench.bench.native.rules import RULES
from lockstep_bench.bench.native.values import Program, Unsupported, Value, View

Lowered = Any  # a window onto a value, a list of them, or the value of data that all replicas share


def lower(module: GraphModule, examples: Mapping[Node, Any], inputs: Sequence[Value]) -> Program:
    """Translate a graph to a program of loop nests.

    Args:
        module: graph of one replica's update; its output is a sequence of tensors.
        examples: the value of every node of the graph for example inputs.
        inputs: the values of the graph's placeholders, in their order.

    Raises:
        Unsupported: if an operation cannot be translated to C++.
    """
    return _Lowering(examples).program_of(module, inputs)


class _Lowering:
    def __init__(self, examples: Mapping[Node, Any]):
        self._examples = examples
        self._program = Program()
        self._nests = Nests(self._program)
        self._of: dict[Node, Lowered] = {}

    def program_of(self, module: GraphModule, inputs: Sequence[Value]) -> Program:
        remaining, needed = iter(inputs), _needed(module)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                value = next(remaining)
                self._of[node] = value if value.shared else View.of(value)
            elif node not in needed:
                continue
            elif node.op == "get_attr":
                self._of[node] = Nests.constant(self._examples[node])
            elif node.op == "call_function":
                try:
                    self._of[node] = self._call(node)
                except Unsupported:
                    raise
                except Exception as error:
                    reason = f"operator {node.target} cannot be compiled for its arguments: {error}"
                    raise Unsupported(reason) from error
            else:
                self._program.outputs = [self._of[leaf] for leaf in node.args[0]]
        return self._program

    def _call(self, node: Node) -> Lowered:
        target: Any = node.target
        if target in SHAPE_ONLY or all(_is_constant(self._of[leaf]) for leaf in node.all_input_nodes):
            return _constants(self._examples[node])
        arguments = [self._lowered(argument) for argument in node.args]
        options = {name: self._lowered(argument) for name, argument in node.kwargs.items()}
        example = self._examples[node]
        if not isinstance(target, torch._ops.OpOverload):  # an element of several results
            return arguments[0][arguments[1]]
        if target in VIEWS:
            return self._viewed(target, *arguments, **options)
        if target in COPIES and example.dtype == arguments[0].value.dtype:
            return arguments[0]
        if target in COMPARE:
            return self._comparison(node, COMPARE[target], arguments)
        if target in ELEMENTWISE:
            return self._elementwise(target, arguments, options, example)
        if target in RULES:
            return RULES[target](self._nests, Operation(node, self._examples), *arguments, **options)
        raise Unsupported(f"operator {target} cannot be compiled")

    def _lowered(self, argument: Any) -> Any:
        if isinstance(argument, Node):
            return self._of[argument]
        return [self._lowered(part) for part in argument] if isinstance(argument, list | tuple) else argument

    def _viewed(self, target: Any, view: View, *arguments: Any, **options: Any) -> Lowered:
        target = RESHAPES.get(target, target)
        try:
            result = target(view.meta(), *arguments, **options)
        except RuntimeError:  # a reshape that strides cannot express
            view = self._nests.copy(view)
            result = target(view.meta(), *arguments, **options)
        return view.like(result) if isinstance(result, Tensor) else [view.like(part) for part in result]

    def _elementwise(self, target: Any, arguments: list[Any], options: dict[str, Any], example: Tensor) -> View:
        dtype = example.dtype
        n_tensors = sum(isinstance(argument, View) for argument in arguments)
        # A number that stands where a tensor could, as in add(a, 2), is an operand. Others decide the form.
        n_operands = N_OPERANDS.get(target, n_tensors)
        if target is aten.div.Tensor and dtype == torch.float64 and _is_fixed_double(arguments[1]):
            # Standardisation, which is then rounded to single precision. A division takes ten times as long.
            divisor: View = arguments[1]
            inverse = self._nests.compute(f"{literal(1, dtype)} / {{0}}", [divisor], divisor.shape, dtype)
            target, arguments = aten.mul.Tensor, [arguments[0], inverse]
        texts, operands = _operands(arguments[:n_operands], dtype)
        form = LOGICAL.get(target, ELEMENTWISE[target]) if dtype == torch.bool else ELEMENTWISE[target]
        try:
            text = form(lambda number: literal(number, dtype), *texts, *arguments[n_operands:], **options)
        except ValueError as reason:
            raise Unsupported(str(reason)) from None
        return self._nests.compute(text, operands, tuple(example.shape), dtype)

    def _comparison(self, node: Node, symbol: str, arguments: list[Any]) -> View:
        given: list[Any] = [self._examples[a] if isinstance(a, Node) else a for a in node.args]
        dtype = torch.result_type(given[0], given[1])
        (left, right), operands = _operands(arguments, dtype)
        if dtype == torch.bool:  # true is -1, which is less than false
            left, right = right, left
        return self._nests.compute(
            f"mask({left} {symbol} {right})", operands, tuple(self._examples[node].shape), torch.bool
        )


def _needed(module: GraphModule) -> set[Node]:
    """Return the nodes whose values the results depend on; a loss is not among them if only its gradient is used."""
    needed = set[Node]()
    for node in reversed(module.graph.nodes):
        if node.op == "output" or (node in needed and node.target not in SHAPE_ONLY):
            needed.update(node.all_input_nodes)
        if node.op == "output":
            needed.add(node)
    return needed


def _is_fixed_double(argument: Any) -> bool:
    return isinstance(argument, View) and argument.value.fixed and argument.value.dtype == torch.float64


def _is_constant(lowered: Lowered) -> bool:
    if isinstance(lowered, list):
        return all(map(_is_constant, lowered))
    return isinstance(lowered, View) and lowered.value.constant is not None


def _constants(example: Any) -> Lowered:
    return Nests.constant(example) if isinstance(example, Tensor) else [_constants(part) for part in example]


def _operands(arguments: Sequence[Any], dtype: torch.dtype) -> tuple[list[str], list[View]]:
    """Return an expression of `dtype` for each argument, and the operands that {0}, {1}, ... in them stand for."""
    texts, operands = [], list[View]()
    for argument in arguments:
        if isinstance(argument, View):
            texts.append(converted(f"{{{len(operands)}}}", argument.value.dtype, dtype))
            operands.append(argument)
        else:
            texts.append(literal(argument, dtype))
    return texts, operands
