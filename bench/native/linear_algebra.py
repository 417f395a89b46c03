"""C++ calls for matrix products and factorisations, whose functions are in `include/linalg.hpp`."""

from collections.abc import Callable
from typing import Any

import torch

from lockstep_bench.bench.native.nests import Nests
from lockstep_bench.bench.native.operation import Operation, Rule, shaped, spread
from lockstep_bench.bench.native.values import Unsupported, View

aten = torch.ops.aten


FEW_TERMS = 8  # of an inner product; one loop then does as well as tiles, and reads its operands where they are made


def _matmul(nests: Nests, operation: Operation, left: View, right: View) -> View:
    """Return the product of matrices (..., M, K) and (..., K, N), of at most one leading axis, the same for both."""
    *batch, rows, inner = left.shape
    columns = right.shape[-1]
    if inner == 1:
        return nests.compute("{0} * {1}", [left, right], (*batch, rows, columns), left.value.dtype)
    if not batch and rows == 1 and inner <= FEW_TERMS:  # joins the nest of its operands
        products = nests.compute("{0} * {1}", [left.transposed(), right], (inner, columns), left.value.dtype)
        return spread(nests.sum(products, [0]), 0)
    if not batch and right == left.transposed():
        text = f"gram<{rows}, {inner}, {left.strides[0]}, {left.strides[1]}>({{0}}, {{1}});"
        return nests.call(text, [left], (rows, rows), product=(rows, inner, rows))[0]
    strides = ", ".join(map(str, (*left.strides[-2:], *right.strides[-2:])))
    product = f"matmul<{rows}, {inner}, {columns}, {strides}, false>"
    if not batch:
        text = f"{product}({{0}}, {{1}}, {{2}});"
        return nests.call(text, [left, right], (rows, columns), product=(rows, inner, columns))[0]
    (count,) = batch
    text = (
        f"for (int b = 0; b < {count}; b++) {product}"
        f"({{0}} + b * {rows * columns}, {{1}} + b * {left.strides[0]}, {{2}} + b * {right.strides[0]});"
    )
    return nests.call(text, [left, right], (count, rows, columns), product=(count * rows, inner, columns))[0]


def _matrix_vector(nests: Nests, operation: Operation, matrix: View, vector: View) -> View:
    return shaped(operation, _matmul(nests, operation, matrix, spread(vector, 1)))


def _dot(nests: Nests, operation: Operation, left: View, right: View) -> View:
    return nests.sum(nests.compute("{0} * {1}", [left, right], left.shape, left.value.dtype), [0])


def _plus_matmul(
    nests: Nests, operation: Operation, start: View, left: View, right: View, *, beta: float = 1, alpha: float = 1
) -> View:
    if (beta, alpha) != (1, 1):
        raise Unsupported("a scaled matrix product that is added to a tensor cannot be compiled")
    product = _matmul(nests, operation, left, right)
    return nests.compute("{0} + {1}", [start, product], operation.shape, start.value.dtype)


def _square(matrix: View) -> int:
    if len(matrix.shape) != 2:
        raise Unsupported("a batch of factorisations cannot be compiled")
    return matrix.shape[-1]


def _factorised(function: str) -> Callable[..., list[View]]:
    def rule(nests: Nests, operation: Operation, matrix: View, **_: Any) -> list[View]:
        n = _square(matrix)
        text = f"{function}<{n}>({{0}}, {{1}});"
        result = nests.call(text, [nests.whole(matrix)], (n, n), factorises=n)
        return [*result, nests.constant(torch.zeros((), dtype=torch.int32))]

    return rule


def _qr(nests: Nests, operation: Operation, matrix: View, mode: str = "reduced") -> list[View]:
    _square(matrix)
    rows, columns = matrix.shape
    if mode != "reduced" or rows < columns:
        raise Unsupported(f"a {mode} QR decomposition of a {rows} x {columns} matrix cannot be compiled")
    text = f"qr<{rows}, {columns}>({{0}}, {{1}}, {{2}});"
    return nests.call(text, [nests.whole(matrix)], (rows, columns), (columns, columns), factorises=rows)


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
    return nests.call(text, [nests.whole(matrix), nests.whole(right)], right.shape, factorises=max(n, others))[0]


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
                raise Unsupported("eigenpairs other than the last few cannot be compiled")
            kept = max(kept, example.shape[-1])
    if n > MAX_EIGENPAIRS_OF:
        raise Unsupported(f"eigenpairs of a {n} x {n} matrix cannot be compiled; at most {MAX_EIGENPAIRS_OF} rows can")
    text = f"last_eigenpairs<{n}, {kept}>({{0}}, {{1}}, {{2}});"
    return nests.call(text, [nests.whole(matrix)], (n,), (n, n), factorises=2 * n)


RULES: dict[object, Rule] = {
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
