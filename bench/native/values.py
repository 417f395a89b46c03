"""Values of an update, and the loop nests and calls that compute them.

All shapes are those of one replica, without an axis for the replicas.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import torch
from torch import Tensor

Shape = tuple[int, ...]


class Unsupported(NotImplementedError):
    """An update contains an operation that cannot be translated to C++."""


@dataclass(eq=False)
class Value:
    """The result of one operation, or an input: an array that is contiguous in row-major order.

    Attributes:
        shape: shape for one replica.
        dtype: torch's data type.
        fixed: whether the value depends only on hyper-parameters and constants, so that it is computed once per call.
        shared: whether it is part of the data, which all replicas share, and from which only rows are taken.
        nest: number of the nest that computes the value, the last one if several do; -1 for inputs and constants.
        first_nest: number of the first nest that computes a part of the value; None if only one nest computes it.
        domain: domain of the nest, if the nest computes one element at each index; None otherwise.
        stored: whether anything reads the value from memory.
        pointer: C++ name of the memory.
        home: larger value whose memory contains this one, and the offset in it; None for memory of its own.
        overwritten: whether parts of the value are written again after the nest that computes it.
        constant: the elements of a constant, which is the same for all replicas; None for other values.
    """

    shape: Shape
    dtype: torch.dtype
    fixed: bool
    shared: bool = False
    nest: int = -1
    first_nest: int | None = None
    domain: Shape | None = None
    stored: bool = False
    pointer: str = ""
    home: "tuple[Value, int] | None" = None
    overwritten: bool = False
    constant: Tensor | None = None

    @property
    def size(self) -> int:
        """Number of elements that one network of the stack has of this value."""
        return prod(self.shape)


@dataclass(frozen=True)
class View:
    """A strided window onto a value, like a view of a tensor.

    Attributes:
        value: the value whose memory is read.
        shape: shape of the window.
        strides: strides in elements, one per axis.
        offset: offset of the first element in the value.
    """

    value: Value
    shape: Shape
    strides: Shape
    offset: int = 0

    @classmethod
    def of(cls, value: Value) -> "View":
        """Return the window that shows a whole value."""
        return cls(value, value.shape, contiguous_strides(value.shape))

    @property
    def is_contiguous(self) -> bool:
        """Return whether the window is contiguous in row-major order."""
        pairs = zip(self.shape, self.strides, contiguous_strides(self.shape), strict=True)
        return all(size == 1 or stride == wanted for size, stride, wanted in pairs)

    @property
    def is_whole(self) -> bool:
        """Return whether the window shows its whole value in the value's order."""
        return self.offset == 0 and self.is_contiguous and prod(self.shape) == self.value.size

    def broadcast(self, shape: Shape) -> "View":
        """Return the window expanded to a shape, as torch broadcasts."""
        missing = len(shape) - len(self.shape)
        strides = [0] * missing + [
            stride if size == wanted else 0
            for size, wanted, stride in zip(self.shape, shape[missing:], self.strides, strict=True)
        ]
        return View(self.value, shape, tuple(strides), self.offset)

    def squeezed(self) -> "View":
        """Return the window without axes of length one."""
        kept = [axis for axis, size in enumerate(self.shape) if size != 1]
        return View(
            self.value,
            tuple(self.shape[axis] for axis in kept),
            tuple(self.strides[axis] for axis in kept),
            self.offset,
        )

    def transposed(self) -> "View":
        """Return the transpose of a window onto a matrix."""
        return View(self.value, self.shape[::-1], self.strides[::-1], self.offset)

    def like(self, result: Tensor) -> "View":
        """Return the window that corresponds to the result of a view operation on `meta()`."""
        return View(self.value, tuple(result.shape), tuple(result.stride()), int(result.storage_offset()))

    def meta(self) -> Tensor:
        """Return a meta tensor (without memory) of this shape, strides and offset, to apply view operations to."""
        base = torch.empty(max(self.value.size, 1), dtype=self.value.dtype, device="meta")
        return base.as_strided(self.shape, self.strides, self.offset)


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Return the strides of a contiguous tensor."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True, eq=False)
class Compute:
    """Statement of a loop nest: target = expression(operands), at every index of the loops."""

    target: Value
    expression: str  # with {0}, {1}, ... for the operands
    operands: tuple[View, ...]


@dataclass(frozen=True, eq=False)
class Reduce:
    """Statement of a loop nest: target = reduction of an operand over some of the loop axes."""

    target: Value
    operand: View
    axes: tuple[int, ...]  # of the nest's domain
    combine: str  # with {0} for the accumulator and {1} for the operand
    start: str
    continues: bool = False  # from what the target holds, in all tiles of rows but the first


@dataclass(frozen=True, eq=False)
class StoreStep:
    """Statement of a loop nest: the window `target` = operand, at every index of the loops."""

    target: View
    operand: View


@dataclass(frozen=True, eq=False)
class Call:
    """Statement that computes whole values by a C++ function, such as a matrix product.

    Attributes:
        text: C++ statement with {0}, {1}, ... for the pointers to targets, then to operands.
        targets: values that the statement writes.
        operands: windows that the statement reads; the pointers point to their first elements.
        product: number of rows, inner length and number of columns of a matrix product; None for other statements.
        factorises: number of rows of a matrix that is factorised; 0 for other statements.
        takes: C++ name of the data from which the statement takes rows; "" for other statements.
    """

    text: str
    targets: tuple[Value, ...]
    operands: tuple[View, ...] = ()
    product: tuple[int, int, int] | None = None
    factorises: int = 0
    takes: str = ""


Statement = Compute | Reduce | StoreStep | Call


@dataclass
class Nest:
    """Nested loops with statements for each index; or a single `Call` without loops.

    Attributes:
        domain: lengths of the loops, all above 1; None for a call.
        statements: statements in the order of execution.
    """

    domain: Shape | None
    statements: list[Statement] = field(default_factory=list)


@dataclass
class Program:
    """An update as two lists of loop nests. The first nest of each list computes scalars from inputs.

    Attributes:
        once: nests that run once per call.
        nests: nests that run at every update.
        outputs: the leaves of the next state.
    """

    once: list[Nest] = field(default_factory=lambda: [Nest(())])
    nests: list[Nest] = field(default_factory=lambda: [Nest(())])
    outputs: list[View] = field(default_factory=list)
