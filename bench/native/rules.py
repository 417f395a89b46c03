"""Native forms of operators that are not elementwise: reductions, arrangements, softmax and linear algebra.

A rule takes the nests to add to, the operation, and the operator's own arguments with windows in place of tensors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from bench.native.nests import Nests
from bench.native.operators import converted, literal
from bench.native.values import Shape, Unsupported, Value, View

aten = torch.ops.aten


@dataclass(frozen=True)
class Operation:
    """One operation of a graph.

    Attributes:
        node: of the graph.
        examples: what every node computes on the example inputs.
    """

    node: Node
    examples: Mapping[Node, Any]

    @property
    def example(self) -> Any:
        """What the operation computes on the example inputs."""
        return self.examples[self.node]

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return tuple(self.example.shape)


Axes = int | Sequence[int] | None


def _axes(view: View, axes: Axes) -> list[int]:
    given = [axes] if isinstance(axes, int) else axes
    rank = len(view.shape)
    return [axis % rank for axis in given] if given and rank else list(range(rank))


def _shaped(operation: Operation, view: View) -> View:
    """Return a window of the result's shape, which may have axes of length one that `view` lacks."""
    return view.like(view.meta().view(operation.shape))


def _spread(view: View, axis: int) -> View:
    """Return a window with one more axis, of length one."""
    return view.like(view.meta().unsqueeze(axis))


# Reductions -----------------------------------------------------------------------------------------------------------


def _of_type(nests: Nests, view: View, dtype: torch.dtype) -> View:
    if view.value.dtype == dtype:
        return view
    return nests.compute(converted("{0}", view.value.dtype, dtype), [view], view.shape, dtype)


def _sum(nests: Nests, operation: Operation, view: View, axes: Axes = None, keepdim: bool = False, **_: Any) -> View:
    view = _of_type(nests, view, operation.example.dtype)
    return _shaped(operation, nests.sum(view, _axes(view, axes)))


def _mean(nests: Nests, operation: Operation, view: View, axes: Axes = None, keepdim: bool = False, **_: Any) -> View:
    total = _sum(nests, operation, view, axes)
    count = literal(prod(view.shape) // max(1, prod(total.shape)), view.value.dtype)
    return nests.compute(f"{{0}} / {count}", [total], total.shape, view.value.dtype)


def _amax(nests: Nests, operation: Operation, view: View, axes: Axes = None, keepdim: bool = False) -> View:
    return _shaped(operation, nests.largest(view, _axes(view, axes)))


def _vector_norm(
    nests: Nests, operation: Operation, view: View, order: float = 2, axes: Axes = None, keepdim: bool = False, **_: Any
) -> View:
    if order != 2:
        raise Unsupported(f"a norm of order {order} has no native form")
    square = nests.compute("{0} * {0}", [view], view.shape, view.value.dtype)
    total = _sum(nests, operation, square, axes)
    return nests.compute("sqrt_({0})", [total], total.shape, view.value.dtype)


def _cumsum(nests: Nests, operation: Operation, view: View, axis: int, **_: Any) -> View:
    view = _of_type(nests, view, operation.example.dtype)
    axis %= len(view.shape)
    outer, length, inner = prod(view.shape[:axis]), view.shape[axis], prod(view.shape[axis + 1 :])
    text = f"cumsum<{outer}, {length}, {inner}>({{0}}, {{1}});"
    return nests.call(text, [nests.whole(view)], view.shape, dtype=view.value.dtype)[0]


def _argmax(nests: Nests, operation: Operation, view: View, axis: int | None = None, keepdim: bool = False) -> View:
    if axis is None or len(view.shape) != 2 or axis % 2 != 0:
        raise Unsupported("argmax has a native form along the first axis of a matrix only")
    rows, columns = view.shape
    text = f"argmax_rows<{rows}, {columns}>({{0}}, {{1}});"
    return nests.call(text, [nests.whole(view)], operation.shape, dtype=torch.int64)[0]


# Softmax --------------------------------------------------------------------------------------------------------------


def _exponentials(nests: Nests, view: View, axis: int) -> tuple[View, View]:
    """Return the largest number along an axis, 0 where that is infinite, and the sum of exp(x - largest)."""
    dtype = view.value.dtype
    largest = nests.largest(view, [axis])
    text = f"select(abs_({{0}}) == {literal(float('inf'), dtype)}, {literal(0, dtype)}, {{0}})"
    finite = nests.compute(text, [largest], largest.shape, dtype)
    powers = nests.compute("exp_({0} - {1})", [view, _spread(finite, axis)], view.shape, dtype)
    return finite, nests.sum(powers, [axis])


def _logsumexp(nests: Nests, operation: Operation, view: View, axes: Axes, keepdim: bool = False) -> View:
    (axis, *others) = _axes(view, axes)
    if others:
        raise Unsupported("logsumexp over several axes has no native form")
    largest, total = _exponentials(nests, view, axis)
    return _shaped(operation, nests.compute("log_({0}) + {1}", [total, largest], total.shape, view.value.dtype))


def _softmax_like(text: str) -> Callable[..., View]:
    def rule(nests: Nests, operation: Operation, view: View, axis: int, _: bool) -> View:
        axis %= len(view.shape)
        largest, total = (_spread(part, axis) for part in _exponentials(nests, view, axis))
        return nests.compute(text, [view, largest, total], view.shape, view.value.dtype)

    return rule


def _backward_like(summand: str, text: str) -> Callable[..., View]:
    def rule(nests: Nests, operation: Operation, gradient: View, result: View, axis: int, _: torch.dtype) -> View:
        dtype, axis = gradient.value.dtype, axis % len(gradient.shape)
        summed = nests.compute(summand, [gradient, result], gradient.shape, dtype)
        total = _spread(nests.sum(summed, [axis]), axis)
        return nests.compute(text, [gradient, result, total], gradient.shape, dtype)

    return rule


# Arrangements ---------------------------------------------------------------------------------------------------------


def _cat(nests: Nests, operation: Operation, views: Sequence[View], axis: int = 0) -> View:
    views = [_of_type(nests, view, operation.example.dtype) for view in views]
    return nests.concatenated(views, axis % operation.example.ndim, operation.shape)


def _stack(nests: Nests, operation: Operation, views: Sequence[View], axis: int = 0) -> View:
    axis %= operation.example.ndim
    return nests.concatenated([_spread(view, axis) for view in views], axis, operation.shape)


def _zeros_with(window_of: Callable[..., Tensor], given: int) -> Callable[..., View]:
    """Return the rule of an operator that puts a tensor into zeros, at a window.

    Args:
        window_of: of the zeros and the operator's last arguments.
        given: how many arguments stand between the tensor and those.
    """

    def rule(nests: Nests, operation: Operation, part: View, *arguments: Any, **options: Any) -> View:
        return nests.zeros_with(part, operation.shape, lambda whole: window_of(whole, *arguments[given:], **options))

    return rule


def _copy_with(window_of: Callable[..., Tensor]) -> Callable[..., View]:
    """Return the rule of an operator that puts a tensor into a copy of another, at a window."""

    def rule(nests: Nests, operation: Operation, view: View, part: View, *arguments: Any, **options: Any) -> View:
        return nests.copy_with(view, part, lambda whole: window_of(whole, *arguments, **options))

    return rule


def _last_diagonal(whole: Tensor, offset: int = 0, first: int = -2, second: int = -1) -> Tensor:
    return whole.diagonal(offset, first, second)


def _where(nests: Nests, operation: Operation, mask: View, yes: View | float, no: View | float) -> View:
    dtype, operands, texts = operation.example.dtype, [mask], []
    for choice in (yes, no):
        if isinstance(choice, View):
            texts.append(converted(f"{{{len(operands)}}}", choice.value.dtype, dtype))
            operands.append(choice)
        else:
            texts.append(literal(choice, dtype))
    return nests.compute(f"select({{0}}, {texts[0]}, {texts[1]})", operands, operation.shape, dtype)


def _triangle(keep: Callable[[Tensor, int], Tensor]) -> Callable[..., View]:
    def rule(nests: Nests, operation: Operation, matrix: View, diagonal: int = 0) -> View:
        kept = nests.constant(keep(torch.ones(matrix.shape[-2:], dtype=torch.bool), diagonal))
        return _where(nests, operation, kept, matrix, 0.0)

    return rule


def _repeat(nests: Nests, operation: Operation, view: View, repeats: Sequence[int]) -> View:
    shape = (1,) * (len(repeats) - len(view.shape)) + view.shape
    spread = view.meta().view(shape)
    for axis in range(len(shape)):
        spread = spread.unsqueeze(2 * axis)
    pairs = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    return _shaped(operation, nests.copy(view.like(spread.expand(pairs))))


def _index(nests: Nests, operation: Operation, data: Value | View, indices: Sequence[View | None]) -> View:
    """Return rows of the data that all replicas share, or entries of another tensor at constant places."""
    shape, dtype = operation.shape, operation.example.dtype
    if isinstance(data, Value):
        (index,) = indices
        assert index is not None
        text = f"take_rows<{prod(index.shape)}, {prod(shape[len(index.shape) :])}>({{0}}, {data.pointer}, {{1}});"
        return nests.call(text, [nests.whole(index)], shape, dtype=dtype)[0]
    places = _places(data.shape, indices)
    text = f"{{{{ {_table(places)} for (int i = 0; i < {len(places)}; i++) {{0}}[i] = {{1}}[at[i]]; }}}}"
    return nests.call(text, [nests.whole(data)], shape, dtype=dtype)[0]


def _index_put(
    nests: Nests, operation: Operation, data: View, indices: Sequence[View | None], part: View, accumulate: bool = False
) -> View:
    places = _places(data.shape, indices)
    window = torch.empty(data.shape, device="meta")[_constants(indices)]
    part = nests.whole(part.broadcast(tuple(window.shape)))
    text = (
        f"{{{{ {_table(places)} for (int i = 0; i < {prod(data.shape)}; i++) {{0}}[i] = {{1}}[i]; "
        f"for (int i = 0; i < {len(places)}; i++) {{0}}[at[i]] {'+=' if accumulate else '='} {{2}}[i]; }}}}"
    )
    return nests.call(text, [nests.whole(data), part], data.shape, dtype=data.value.dtype)[0]


def _constants(indices: Sequence[View | None]) -> tuple[Any, ...]:
    if any(index is not None and index.value.constant is None for index in indices):
        raise Unsupported("an index that the update computes has no native form")
    return tuple(slice(None) if index is None else index.value.constant for index in indices)


def _places(shape: Shape, indices: Sequence[View | None]) -> list[int]:
    places: list[int] = torch.arange(prod(shape)).reshape(shape)[_constants(indices)].flatten().tolist()
    return places


def _table(places: Sequence[int]) -> str:
    return f"static const int at[] = {{{{{', '.join(map(str, places))}}}}};"


def _gather(nests: Nests, operation: Operation, view: View, axis: int, index: View, **_: Any) -> View:
    if len(view.shape) != 2 or index.shape[1 - axis % 2] != view.shape[1 - axis % 2]:
        raise Unsupported("gather has a native form for matrices, along a whole axis, only")
    name = ("gather_rows", "gather_columns")[axis % 2]
    text = f"{name}<{view.shape[0]}, {view.shape[1]}, {index.shape[axis % 2]}>({{0}}, {{1}}, {{2}});"
    return nests.call(text, [nests.whole(view), nests.whole(index)], index.shape, dtype=view.value.dtype)[0]


# Linear algebra -------------------------------------------------------------------------------------------------------


FEW_TERMS = 8  # of an inner product; one loop then does as well as tiles, and reads its operands where they are made


def _matmul(nests: Nests, operation: Operation, left: View, right: View) -> View:
    """Return the product of matrices (..., M, K) and (..., K, N), of at most one leading axis, the same for both."""
    *batch, rows, inner = left.shape
    columns = right.shape[-1]
    if inner == 1:
        return nests.compute("{0} * {1}", [left, right], (*batch, rows, columns), left.value.dtype)
    if not batch and rows == 1 and inner <= FEW_TERMS:  # joins the nest of its operands
        products = nests.compute("{0} * {1}", [left.transposed(), right], (inner, columns), left.value.dtype)
        return _spread(nests.sum(products, [0]), 0)
    if not batch and right == left.transposed():
        text = f"gram<{rows}, {inner}, {left.strides[0]}, {left.strides[1]}>({{0}}, {{1}});"
        return nests.call(text, [left], (rows, rows))[0]
    strides = ", ".join(map(str, (*left.strides[-2:], *right.strides[-2:])))
    product = f"matmul<{rows}, {inner}, {columns}, {strides}, false>"
    if not batch:
        return nests.call(f"{product}({{0}}, {{1}}, {{2}});", [left, right], (rows, columns))[0]
    (count,) = batch
    text = (
        f"for (int b = 0; b < {count}; b++) {product}"
        f"({{0}} + b * {rows * columns}, {{1}} + b * {left.strides[0]}, {{2}} + b * {right.strides[0]});"
    )
    return nests.call(text, [left, right], (count, rows, columns))[0]


def _matrix_vector(nests: Nests, operation: Operation, matrix: View, vector: View) -> View:
    return _shaped(operation, _matmul(nests, operation, matrix, _spread(vector, 1)))


def _dot(nests: Nests, operation: Operation, left: View, right: View) -> View:
    return nests.sum(nests.compute("{0} * {1}", [left, right], left.shape, left.value.dtype), [0])


def _plus_matmul(
    nests: Nests, operation: Operation, start: View, left: View, right: View, *, beta: float = 1, alpha: float = 1
) -> View:
    if (beta, alpha) != (1, 1):
        raise Unsupported("a scaled matrix product that is added to a tensor has no native form")
    product = _matmul(nests, operation, left, right)
    return nests.compute("{0} + {1}", [start, product], operation.shape, start.value.dtype)


def _square(matrix: View) -> int:
    if len(matrix.shape) != 2:
        raise Unsupported("a batch of factorisations has no native form")
    return matrix.shape[-1]


def _factorised(function: str) -> Callable[..., list[View]]:
    def rule(nests: Nests, operation: Operation, matrix: View, **_: Any) -> list[View]:
        n = _square(matrix)
        result = nests.call(f"{function}<{n}>({{0}}, {{1}});", [nests.whole(matrix)], (n, n))
        return [*result, nests.constant(torch.zeros((), dtype=torch.int32))]

    return rule


def _qr(nests: Nests, operation: Operation, matrix: View, mode: str = "reduced") -> list[View]:
    _square(matrix)
    rows, columns = matrix.shape
    if mode != "reduced" or rows < columns:
        raise Unsupported(f"a {mode} QR decomposition of a {rows} x {columns} matrix has no native form")
    text = f"qr<{rows}, {columns}>({{0}}, {{1}}, {{2}});"
    return nests.call(text, [nests.whole(matrix)], (rows, columns), (columns, columns))


def _solve_triangular(
    nests: Nests,
    operation: Operation,
    matrix: View,
    right: View,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> View:
    n, _ = _square(matrix), _square(right)
    others = right.shape[1] if left else right.shape[0]
    flags = ", ".join(str(flag).lower() for flag in (upper, left, unitriangular))
    text = f"solve_triangular<{n}, {others}, {flags}>({{0}}, {{1}}, {{2}});"
    return nests.call(text, [nests.whole(matrix), nests.whole(right)], right.shape)[0]


MAX_EIGENPAIRS_OF = 256  # rows; a function's local arrays would be too large for the stack


def _last_eigenpairs(nests: Nests, operation: Operation, matrix: View, *_: Any) -> list[View]:
    """Return eigenvalues and eigenvectors, of which only the last few, which slices [..., -k:] keep, are computed."""
    n, kept = _square(matrix), 0
    for part in operation.node.users:
        last_axis, full = operation.examples[part].ndim - 1, tuple(operation.examples[part].shape)
        for user in part.users:
            example = operation.examples[user]
            slices: list[Any] = list(user.args[1:]) if user.target is aten.slice.Tensor else []
            axis = slices[0] % len(full) if slices else None
            if axis is not None and axis != last_axis and tuple(example.shape) == full:
                continue  # all rows
            if axis != last_axis or slices[1] % n != n - example.shape[-1] or len(slices) > 3:
                raise Unsupported("eigenpairs other than the last few have no native form")
            kept = max(kept, example.shape[-1])
    if n > MAX_EIGENPAIRS_OF:
        raise Unsupported(
            f"eigenpairs of a {n} x {n} matrix have no native form; at most {MAX_EIGENPAIRS_OF} rows have"
        )
    return nests.call(f"last_eigenpairs<{n}, {kept}>({{0}}, {{1}}, {{2}});", [nests.whole(matrix)], (n,), (n, n))


def _isnan(nests: Nests, operation: Operation, view: View) -> View:
    return nests.compute("mask({0} != {0})", [view], view.shape, torch.bool)


def _log_sigmoid(nests: Nests, operation: Operation, view: View) -> list[View]:
    return [nests.compute("log_sigmoid_({0})", [view], view.shape, view.value.dtype), view]


RULES: dict[object, Callable[..., View | list[View]]] = {
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
    aten.log_sigmoid_forward.default: _log_sigmoid,
    aten.cat.default: _cat,
    aten.stack.default: _stack,
    aten.select_backward.default: _zeros_with(aten.select.int, 1),
    aten.slice_backward.default: _zeros_with(aten.slice.Tensor, 1),
    aten.diagonal_backward.default: _zeros_with(torch.diagonal, 1),
    aten.diag_embed.default: _zeros_with(_last_diagonal, 0),
    aten.diagonal_scatter.default: _copy_with(torch.diagonal),
    aten.select_scatter.default: _copy_with(aten.select.int),
    aten.slice_scatter.default: _copy_with(aten.slice.Tensor),
    aten.isnan.default: _isnan,
    aten.where.self: _where,
    aten.masked_fill.Scalar: lambda nests, operation, view, mask, number: _where(nests, operation, mask, number, view),
    aten.triu.default: _triangle(torch.triu),
    aten.tril.default: _triangle(torch.tril),
    aten.repeat.default: _repeat,
    aten.index.Tensor: _index,
    aten.index_put.default: _index_put,
    aten.gather.default: _gather,
    aten.mm.default: _matmul,
    aten.bmm.default: _matmul,
    aten.mv.default: _matrix_vector,
    aten.dot.default: _dot,
    aten.addmm.default: _plus_matmul,
    aten.baddbmm.default: _plus_matmul,
    aten.linalg_inv_ex.default: _factorised("inverse_of"),
    aten.linalg_cholesky_ex.default: _factorised("cholesky"),
    aten.linalg_qr.default: _qr,
    aten.linalg_solve_triangular.default: _solve_triangular,
    aten._linalg_eigh.default: _last_eigenpairs,
}
