"""C++ code for reductions, including softmax."""

from collections.abc import Callable
from math import prod
from typing import Any

import torch

from lockstep_bench.bench.native.nests import Nests
from lockstep_bench.bench.native.operation import Axes, Operation, Rule, axes_of, shaped, spread
from lockstep_bench.bench.native.operators import literal
from lockstep_bench.bench.native.values import Unsupported, View

aten = torch.ops.aten


def _sum(nests: Nests, operation: Operation, view: View, axes: Axes = None, keepdim: bool = False, **_: Any) -> View:
    view = nests.of_type(view, operation.example.dtype)
    return shaped(operation, nests.sum(view, axes_of(view, axes)))


def _mean(nests: Nests, operation: Operation, view: View, axes: Axes = None, keepdim: bool = False, **_: Any) -> View:
    total = _sum(nests, operation, view, axes)
    count = literal(prod(view.shape) // max(1, prod(total.shape)), view.value.dtype)
    return nests.compute(f"{{0}} / {count}", [total], total.shape, view.value.dtype)


def _amax(nests: Nests, operation: Operation, view: View, axes: Axes = None, keepdim: bool = False) -> View:
    return shaped(operation, nests.largest(view, axes_of(view, axes)))


def _vector_norm(
    nests: Nests, operation: Operation, view: View, order: float = 2, axes: Axes = None, keepdim: bool = False, **_: Any
) -> View:
    if order != 2:
        raise Unsupported(f"a norm of order {order} cannot be compiled")
    square = nests.compute("{0} * {0}", [view], view.shape, view.value.dtype)
    total = _sum(nests, operation, square, axes)
    return nests.compute("sqrt_({0})", [total], total.shape, view.value.dtype)


def _cumsum(nests: Nests, operation: Operation, view: View, axis: int, **_: Any) -> View:
    view = nests.of_type(view, operation.example.dtype)
    axis %= len(view.shape)
    outer, length, inner = prod(view.shape[:axis]), view.shape[axis], prod(view.shape[axis + 1 :])
    text = f"cumsum<{outer}, {length}, {inner}>({{0}}, {{1}});"
    return nests.call(text, [nests.whole(view)], view.shape, dtype=view.value.dtype)[0]


def _argmax(nests: Nests, operation: Operation, view: View, axis: int | None = None, keepdim: bool = False) -> View:
    if axis is None or len(view.shape) != 2 or axis % 2 != 0:
        raise Unsupported("argmax can be compiled only along the first axis of a matrix")
    rows, columns = view.shape
    text = f"argmax_rows<{rows}, {columns}>({{0}}, {{1}});"
    return nests.call(text, [nests.whole(view)], operation.shape, dtype=torch.int64)[0]


def _exponentials(nests: Nests, view: View, largest: View, axis: int) -> View:
    """Return the sum of exp(x - largest) along an axis."""
    dtype = view.value.dtype
    powers = nests.compute("exp_({0} - {1})", [view, spread(largest, axis)], view.shape, dtype)
    return nests.sum(powers, [axis])


def _logsumexp(nests: Nests, operation: Operation, view: View, axes: Axes, keepdim: bool = False) -> View:
    (axis, *others) = axes_of(view, axes)
    if others:
        raise Unsupported("logsumexp over several axes cannot be compiled")
    dtype, largest = view.value.dtype, nests.largest(view, [axis])
    # Where the largest number is infinite, the logarithm of the sum is infinite too, as in torch, and not NaN.
    text = f"select(abs_({{0}}) == {literal(float('inf'), dtype)}, {literal(0, dtype)}, {{0}})"
    finite = nests.compute(text, [largest], largest.shape, dtype)
    total = _exponentials(nests, view, finite, axis)
    return shaped(operation, nests.compute("log_({0}) + {1}", [total, finite], total.shape, dtype))


def _softmax_like(text: str) -> Callable[..., View]:
    def rule(nests: Nests, operation: Operation, view: View, axis: int, _: bool) -> View:
        axis %= len(view.shape)
        largest = nests.largest(view, [axis])  # an infinite one makes every number NaN, as in torch
        total = _exponentials(nests, view, largest, axis)
        return nests.compute(text, [view, spread(largest, axis), spread(total, axis)], view.shape, view.value.dtype)

    return rule


def _backward_like(summand: str, text: str) -> Callable[..., View]:
    def rule(nests: Nests, operation: Operation, gradient: View, result: View, axis: int, _: torch.dtype) -> View:
        dtype, axis = gradient.value.dtype, axis % len(gradient.shape)
        summed = nests.compute(summand, [gradient, result], gradient.shape, dtype)
        total = spread(nests.sum(summed, [axis]), axis)
        return nests.compute(text, [gradient, result, total], gradient.shape, dtype)

    return rule


RULES: dict[object, Rule] = {
    aten.sum.default: _sum,
    aten.sum.dim_IntList: _sum,
    aten.mean.default: _mean,
    aten.mean.dim: _mean,
    aten.amax.default: _amax,
    aten.linalg_vector_norm.default: _vector_norm,
    aten.cumsum.default: _cumsum,
    aten.argmax.default: _argmax,
    aten.logsumexp.default: _logsumexp,
    aten._softmax.default: _softmax_like("exp_({0} - {1}) / {2}"),
    aten._log_softmax.default: _softmax_like("{0} - {1} - log_({2})"),
    aten._softmax_backward_data.default: _backward_like("{0} * {1}", "({0} - {2}) * {1}"),
    aten._log_softmax_backward_data.default: _backward_like("{0}", "{0} - exp_({1}) * {2}"),
}
