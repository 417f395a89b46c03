"""How much an update computes: its arithmetic operations, and the bytes that its loops read and write."""

import re
from math import prod
from typing import NamedTuple

from lockstep_bench.bench.native.loops import windows
from lockstep_bench.bench.native.memory import operands, targets
from lockstep_bench.bench.native.values import Call, Compute, Nest, Program, Reduce, Statement, View

# An operator between two operands, or a call of a function of include/elementary.hpp.
OPERATION = re.compile(r" [-+*/&|] |\w_\(|select\(")


class Work(NamedTuple):
    """Amount of computing of one update of one replica.

    Attributes:
        operations: number of arithmetic operations. An addition, a product, a comparison, an exponential or a square
            root is one each; random numbers are not counted.
        moved: bytes that the loops read and write, wherever the processor has them. What a loop reads repeatedly, such
            as a bias for all rows, counts once.
    """

    operations: int
    moved: int


def work_of(program: Program) -> Work:
    """Return what an update computes."""
    operations = sum(_operations(nest, statement) for nest in program.nests for statement in nest.statements)
    return Work(operations, sum(map(_moved, program.nests)))


def _operations(nest: Nest, statement: Statement) -> int:
    if isinstance(statement, Call):
        rows, inner, columns = statement.product or (0, 0, 0)
        return 2 * rows * inner * columns + statement.factorises**3 // 3
    assert nest.domain is not None
    if isinstance(statement, Compute):
        fused = statement.expression.count("multiply_add(")  # two operations each
        return prod(nest.domain) * (len(OPERATION.findall(statement.expression)) + 2 * fused)
    return prod(nest.domain) if isinstance(statement, Reduce) else 0


def _moved(nest: Nest) -> int:
    if nest.domain is None:
        read = sum(map(_bytes, (view for statement in nest.statements for view in operands(statement))))
        written = (value for statement in nest.statements for value in targets(statement))
        return read + sum(value.size * value.dtype.itemsize for value in written)
    return sum(map(_bytes, set(windows(nest))))


def _bytes(view: View) -> int:
    """Return the size in bytes of the distinct elements that a window refers to."""
    sizes = (size for size, stride in zip(view.shape, view.strides, strict=True) if stride)
    return prod(sizes) * view.value.dtype.itemsize
