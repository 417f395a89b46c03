"""Values of an update, and the loop nests that compute them.

All shapes are those of one replica: the axis of replicas is that of the SIMD lanes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import torch
from torch import Tensor

Shape = tuple[int, ...]


class Unsupported(NotImplementedError):
    """An update contains an operation that has no native form."""


@dataclass(eq=False)
class Value:
    """The result of one operation, contiguous in row-major order.

    Attributes:
        shape: shape of one replica's numbers.
        dtype: torch's.
        shared: whether it is data of all replicas, from which only rows are taken.
        fixed: whether it depends only on hyper-parameters and constants, and is computed once per call.
        nest: number of the nest that computes it, the last one if several do; -1 of inputs and constants.
        first_nest: number of the first nest that computes a part of it; None if only one nest computes it.
        domain: domain of the nest, if the value is known inside that nest at every index; None otherwise.
        stored: whether anything reads it from memory.
        pointer: C++ name of its memory.
        home: a larger value whose memory contains this one, and the offset in it.
        overwritten: whether parts of it are written again after the nest that computes it.
        constant: numbers of a constant, the same for all replicas.
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
        """Numbers of one replica."""
        return prod(self.shape)


@dataclass(frozen=True)
class View:
    """A strided window onto a value.

    Attributes:
        value: the value whose memory is read.
        shape: shape of the window.
        strides: strides in numbers, one per axis.
        offset: offset in numbers.
    """

    value: Value
    shape: Shape
    strides: Shape
    offset: int = 0

    @classmethod
    def of(cls, value: Value) -> "View":
        """Return the window onto all of a value."""
        return cls(value, value.shape, contiguous_strides(value.shape))

    @property
    def is_contiguous(self) -> bool:
        """Return whether the numbers lie side by side in row-major order."""
        pairs = zip(self.shape, self.strides, contiguous_strides(self.shape), strict=True)
        return all(size == 1 or stride == wanted for size, stride, wanted in pairs)

    @property
    def is_whole(self) -> bool:
        """Return whether the window shows all of its value in order."""
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
        """Return the window of a matrix with rows for columns."""
        return View(self.value, self.shape[::-1], self.strides[::-1], self.offset)

    def like(self, result: Tensor) -> "View":
        """Return the window that a view operation made of `meta()`."""
        return View(self.value, tuple(result.shape), tuple(result.stride()), int(result.storage_offset()))

    def meta(self) -> Tensor:
        """Return a tensor without memory of the same shape, strides and offset, to try view operations on."""
        base = torch.empty(max(self.value.size, 1), dtype=self.value.dtype, device="meta")
        return base.as_strided(self.shape, self.strides, self.offset)


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Return the strides of a contiguous tensor."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True, eq=False)
class Compute:
    """target = expression(operands), at every index of the nest."""

    target: Value
    expression: str  # with {0}, {1}, ... for the operands
    operands: tuple[View, ...]


@dataclass(frozen=True, eq=False)
class Reduce:
    """target = reduction of an operand over some axes of the nest."""

    target: Value
    operand: View
    axes: tuple[int, ...]  # of the nest's domain
    combine: str  # with {0} for the accumulator and {1} for the operand
    start: str
    continues: bool = False  # from what the target holds, in all tiles of rows but the first


@dataclass(frozen=True, eq=False)
class StoreStep:
    """A part of `target` = operand, at every index of the nest."""

    target: View
    operand: View


@dataclass(frozen=True, eq=False)
class Call:
    """A C++ statement on the memory of whole values.

    Attributes:
        text: C++ with {0}, {1}, ... for the pointers of targets, then of operands.
        targets: values that the statement writes.
        operands: windows whose first numbers the pointers show.
        product: rows, inner length and columns of a matrix product.
        factorises: rows of a matrix that is factorised, or 0.
        takes: C++ name of the data of which it takes rows.
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
    """Loops over a domain, with statements for each index; or one call.

    Attributes:
        domain: lengths of the loops, none of them 1; None for a call.
        statements: statements in the order of execution.
    """

    domain: Shape | None
    statements: list[Statement] = field(default_factory=list)


@dataclass
class Program:
    """An update as loop nests. The first nest of each kind is for single numbers that need no others.

    Attributes:
        once: nests that run once per call.
        nests: nests that run at every update.
        outputs: the leaves of the next state.
    """

    once: list[Nest] = field(default_factory=lambda: [Nest(())])
    nests: list[Nest] = field(default_factory=lambda: [Nest(())])
    outputs: list[View] = field(default_factory=list)
