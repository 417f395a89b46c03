"""C++ code for operators that join tensors, take parts of them, or copy them."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from lockstep_bench.bench.native.nests import Nests
from lockstep_bench.bench.native.operation import Operation, Rule, shaped, spread
from lockstep_bench.bench.native.operators import converted, literal
from lockstep_bench.bench.native.values import Shape, Unsupported, Value, View

aten = torch.ops.aten


def _cat(nests: Nests, operation: Operation, views: Sequence[View], axis: int = 0) -> View:
    views = [nests.of_type(view, operation.example.dtype) for view in views]
    return nests.concatenated(views, axis % operation.example.ndim, operation.shape)


def _stack(nests: Nests, operation: Operation, views: Sequence[View], axis: int = 0) -> View:
    axis %= operation.example.ndim
    return nests.concatenated([spread(view, axis) for view in views], axis, operation.shape)


def _zeros_with(window_of: Callable[..., Tensor], given: int) -> Callable[..., View]:
    """Return the translation rule of an operator that writes a tensor into a window of zeros.

    Args:
        window_of: maps the zeros and the operator's last arguments to the window.
        given: number of the operator's arguments between the tensor and those.
    """

    def rule(nests: Nests, operation: Operation, part: View, *arguments: Any, **options: Any) -> View:
        return nests.zeros_with(part, operation.shape, lambda whole: window_of(whole, *arguments[given:], **options))

    return rule


def _copy_with(window_of: Callable[..., Tensor]) -> Callable[..., View]:
    """Return the translation rule of an operator that writes a tensor into a window of a copy of another tensor."""

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
    return shaped(operation, nests.copy(view.like(spread.expand(pairs))))


def _index(nests: Nests, operation: Operation, data: Value | View, indices: Sequence[View | None]) -> View:
    """Return rows of the data that all replicas share, or elements of another tensor at constant indices."""
    shape, dtype = operation.shape, operation.example.dtype
    if isinstance(data, Value):
        (index,) = indices
        assert index is not None
        text = f"take_rows<{prod(index.shape)}, {prod(shape[len(index.shape) :])}>({{0}}, {data.pointer}, {{1}});"
        return nests.call(text, [nests.whole(index)], shape, dtype=dtype, takes=data.pointer)[0]
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
        raise Unsupported("an index that the update computes cannot be compiled")
    return tuple(slice(None) if index is None else index.value.constant for index in indices)


def _places(shape: Shape, indices: Sequence[View | None]) -> list[int]:
    places: list[int] = torch.arange(prod(shape)).reshape(shape)[_constants(indices)].flatten().tolist()
    return places


def _table(places: Sequence[int]) -> str:
    return f"static const int at[] = {{{{{', '.join(map(str, places))}}}}};"


def _gather(nests: Nests, operation: Operation, view: View, axis: int, index: View, **_: Any) -> View:
    if len(view.shape) != 2 or index.shape[1 - axis % 2] != view.shape[1 - axis % 2]:
        raise Unsupported("gather can be compiled only for matrices, along a whole axis")
    name = ("gather_rows", "gather_columns")[axis % 2]
    text = f"{name}<{view.shape[0]}, {view.shape[1]}, {index.shape[axis % 2]}>({{0}}, {{1}}, {{2}});"
    return nests.call(text, [nests.whole(view), nests.whole(index)], index.shape, dtype=view.value.dtype)[0]


RULES: dict[object, Rule] = {
    aten.cat.default: _cat,
    aten.stack.default: _stack,
    aten.select_backward.default: _zeros_with(aten.select.int, 1),
    aten.slice_backward.default: _zeros_with(aten.slice.Tensor, 1),
    aten.diagonal_backward.default: _zeros_with(torch.diagonal, 1),
    aten.diag_embed.default: _zeros_with(_last_diagonal, 0),
    aten.diagonal_scatter.default: _copy_with(torch.diagonal),
    aten.select_scatter.default: _copy_with(aten.select.int),
    aten.slice_scatter.default: _copy_with(aten.slice.Tensor),
    aten.where.self: _where,
    aten.masked_fill.Scalar: lambda nests, operation, view, mask, number: _where(nests, operation, mask, number, view),
    aten.triu.default: _triangle(torch.triu),
    aten.tril.default: _triangle(torch.tril),
    aten.repeat.default: _repeat,
    aten.index.Tensor: _index,
    aten.index_put.default: _index_put,
    aten.gather.default: _gather,
}
