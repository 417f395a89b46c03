"""Loop nests of an update, which are built one operation at a time.

Operands and results are windows (`bench.native.values.View`): strided views of values, like views of a tensor.

An elementwise operation joins the nest of its operands if it needs these at the same index only. A chain of such
operations is then one loop, whose intermediate numbers stay in registers. A reduction runs inside the nest of its
operand. Parts of a concatenation are computed in place. Operations that depend only on hyper-parameters and constants
go to the nests that run once per call.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import torch
from torch import Tensor

from lockstep_bench.bench.native.memory import operands
from lockstep_bench.bench.native.operators import converted, literal
from lockstep_bench.bench.native.values import Call, Compute, Nest, Program, Reduce, Shape, StoreStep, Value, View


class Nests:
    """Adds the loop nests of operations to a program.

    Args:
        program: the program to which nests are added.
    """

    def __init__(self, program: Program):
        self._program = program

    def compute(
        self, text: str, operands: Sequence[View], shape: Shape, dtype: torch.dtype, fixed: bool | None = None
    ) -> View:
        """Add an elementwise operation; return a window onto its result.

        Along axes on which no operand changes, the result is computed only once.

        Args:
            text: C++ expression with {0}, {1}, ... for the operands.
            operands: windows that broadcast to `shape`.
            shape: shape of the result.
            dtype: type of the result.
            fixed: whether the result is computed once per call; by default if all operands are.
        """
        spread = [operand.broadcast(shape) for operand in operands]
        varies = [any(operand.strides[axis] for operand in spread) for axis in range(len(shape))]
        fewer = tuple(size if varied else min(size, 1) for size, varied in zip(shape, varies, strict=True))
        return self._filled(text, operands, fewer, dtype, fixed).broadcast(shape)

    def _filled(
        self, text: str, operands: Sequence[View], shape: Shape, dtype: torch.dtype, fixed: bool | None = None
    ) -> View:
        """Return an elementwise expression of operands, computed for every index."""
        domain = tuple(size for size in shape if size != 1)
        spread = tuple(operand.broadcast(shape).squeezed() for operand in operands)
        nest, number, fixed = self._nest(domain, spread, fixed=fixed)
        target = Value(shape, dtype, fixed, nest=number, domain=domain)
        nest.statements.append(Compute(target, text, spread))
        return View.of(target)

    def reduce(self, view: View, axes: Sequence[int], combine: str, start: str) -> View:
        """Add a reduction over axes, which the result then lacks; return a window onto the result.

        Args:
            view: the operand that is reduced.
            axes: axes counted from 0, without repetition.
            combine: C++ expression with {0} for the accumulator and {1} for the next number.
            start: C++ expression of the accumulator's initial value.
        """
        kept = [axis for axis in range(len(view.shape)) if axis not in axes]
        shape = tuple(view.shape[axis] for axis in kept)
        if all(view.shape[axis] == 1 for axis in axes):
            return replace(view, shape=shape, strides=tuple(view.strides[axis] for axis in kept))
        squeezed = [axis for axis, size in enumerate(view.shape) if size != 1]
        places = tuple(squeezed.index(axis) for axis in sorted(axes) if view.shape[axis] != 1)
        operand = view.squeezed()
        nest, number, fixed = self._nest(operand.shape, [operand])
        target = Value(shape, view.value.dtype, fixed, nest=number, stored=True)
        nest.statements.append(Reduce(target, operand, places, combine, start))
        return View.of(target)

    def sum(self, view: View, axes: Sequence[int]) -> View:
        """Add a sum over axes, which the result then lacks; return a window onto the result."""
        return self.reduce(view, axes, "{0} + {1}", literal(0, view.value.dtype))

    def largest(self, view: View, axes: Sequence[int]) -> View:
        """Add a maximum over axes, which the result then lacks; return a window onto the result."""
        return self.reduce(view, axes, "max_({0}, {1})", literal(float("-inf"), view.value.dtype))

    def call(
        self,
        text: str,
        operands: Sequence[View],
        *shapes: Shape,
        dtype: torch.dtype = torch.float32,
        product: tuple[int, int, int] | None = None,
        factorises: int = 0,
        takes: str = "",
    ) -> list[View]:
        """Add a C++ statement that computes whole values, such as a matrix product; return its results.

        Args:
            text: C++ statement with {0}, {1}, ... for pointers: first to each result, then to each operand.
            operands: windows onto the values that the statement reads.
            shapes: shapes of the results.
            dtype: type of the results.
            product: number of rows, inner length and number of columns of a matrix product; None for no product.
            factorises: number of rows of a matrix that is factorised; 0 for none.
            takes: C++ name of the data from which the statement takes rows; "" for none.
        """
        views = [self._in_memory(view) for view in operands]
        fixed = all(view.value.fixed for view in views)
        nests = self._nests(fixed)
        targets = tuple(Value(shape, dtype, fixed, nest=len(nests), stored=True) for shape in shapes)
        nests.append(Nest(None, [Call(text, targets, tuple(views), product, factorises, takes)]))
        return [View.of(target) for target in targets]

    def copy(self, view: View, fixed: bool | None = None) -> View:
        """Return a contiguous copy."""
        return self._filled("{0}", [view], view.shape, view.value.dtype, fixed)

    def whole(self, view: View) -> View:
        """Return a window with the same numbers that is contiguous; a copy if necessary."""
        return view if view.is_contiguous else self.copy(view)

    def of_type(self, view: View, dtype: torch.dtype) -> View:
        """Return the window's elements converted to another data type, as a window onto the converted value."""
        given = view.value.dtype
        return view if given == dtype else self.compute(converted("{0}", given, dtype), [view], view.shape, dtype)

    def concatenated(self, parts: Sequence[View], axis: int, shape: Shape) -> View:
        """Return the concatenation of parts along an axis, a tensor of the given shape."""
        parts = [part for part in parts if prod(part.shape)] or parts[:1]
        whole = View.of(self._empty(parts, shape))
        start = 0
        for part in parts:
            self._put(replace(whole, shape=part.shape, offset=start * whole.strides[axis]), part)
            start += part.shape[axis]
        return whole

    def zeros_with(self, part: View, shape: Shape, window_of: Callable[[Tensor], Tensor]) -> View:
        """Return a tensor of zeros in which a window, given by the view operation `window_of`, is set to `part`."""
        if prod(shape) == prod(part.shape):
            whole = View.of(self._empty([part], shape))
        else:
            dtype = part.value.dtype
            whole = self._written_first(self._filled(literal(0, dtype), [], shape, dtype, part.value.fixed))
        self._put(whole.like(window_of(whole.meta())), part)
        return whole

    def copy_with(self, view: View, part: View, window_of: Callable[[Tensor], Tensor]) -> View:
        """Return a copy of a tensor in which a window, given by the view operation `window_of`, is set to `part`."""
        whole = self._written_first(self.copy(view, view.value.fixed and part.value.fixed))
        self._put(whole.like(window_of(whole.meta())), part)
        return whole

    @staticmethod
    def constant(tensor: Tensor) -> View:
        """Return a `View` of a constant tensor, of which all replicas and updates use the same copy."""
        shape, numbers = tuple(tensor.shape), tensor.detach().contiguous()
        if tensor.is_floating_point() and tensor.numel() > 1 and bool((numbers == numbers.flatten()[0]).all()):
            numbers = numbers.flatten()[:1].reshape((1,) * tensor.ndim)
        return View.of(Value(tuple(numbers.shape), tensor.dtype, True, constant=numbers)).broadcast(shape)

    # The nest of an operation -----------------------------------------------------------------------------------------

    def _nests(self, fixed: bool) -> list[Nest]:
        return self._program.once if fixed else self._program.nests

    def _nest(
        self, domain: Shape, operands: Sequence[View], earliest: int = 0, fixed: bool | None = None
    ) -> tuple[Nest, int, bool]:
        """Return a nest in which operands are known, its number, and whether it runs once per call."""
        if fixed is None:
            fixed = all(operand.value.fixed for operand in operands)
        for operand in operands:
            value = operand.value
            if value.nest >= 0 and value.fixed == fixed:
                is_local = value.domain == domain and operand.is_whole
                earliest = max(earliest, value.nest if is_local else value.nest + 1)
        nests = self._nests(fixed)
        # Single numbers are computed early: a nest that needs one must come later, and would part from its operands.
        places = range(earliest, len(nests)) if not domain else reversed(range(earliest, len(nests)))
        number = next((place for place in places if nests[place].domain == domain), len(nests))
        if number == len(nests):
            nests.append(Nest(domain))
        for operand in operands:
            is_local = operand.value.domain == domain and operand.is_whole
            if not is_local or operand.value.nest != number or operand.value.fixed != fixed:
                operand.value.stored = True
        return nests[number], number, fixed

    def _in_memory(self, view: View) -> View:
        if view.value.constant is not None:
            view = self.copy(view)
        view.value.stored = True
        return view

    # Values that are written part by part -----------------------------------------------------------------------------

    @staticmethod
    def _empty(parts: Sequence[View], shape: Shape) -> Value:
        fixed = all(part.value.fixed for part in parts)
        return Value(shape, parts[0].value.dtype, fixed, nest=0, stored=True)

    @staticmethod
    def _written_first(whole: View) -> View:
        """Return the window onto a value of which parts will be written again, so no nest may keep it in registers."""
        value = whole.value
        value.stored, value.domain, value.overwritten, value.first_nest = True, None, True, value.nest
        return whole

    def _put(self, window: View, part: View) -> None:
        """Write a part of a value. Where it can be, the part is computed in place."""
        target, source = window.value, part.value
        begun = source.nest if source.first_nest is None else source.first_nest
        in_place = (
            part.is_whole
            and window.is_contiguous
            and source.constant is None
            and begun > (target.nest if target.overwritten else -1)
            and source.home is None
            and (source.fixed, source.dtype) == (target.fixed, target.dtype)
        )
        if in_place:
            source.home, source.stored = (target, window.offset), True
            _extend(target, begun, source.nest)
            return
        earliest = target.nest + 1 if target.overwritten else 0
        operand = part.squeezed()
        nest, number, _ = self._nest(operand.shape, [operand], earliest, target.fixed)
        nest.statements.append(StoreStep(window.squeezed(), operand))
        _extend(target, number, number)


def _extend(value: Value, first: int, last: int) -> None:
    """Note nests that write a part of a value."""
    value.first_nest = first if value.first_nest is None else min(value.first_nest, first)
    value.nest = max(value.nest, last)


def bind(program: Program, state: Sequence[Value]) -> list[int | None]:
    """Choose for every leaf of the next state the memory in which it is computed.

    A leaf that the update returns unchanged, or as another leaf, is not copied. A leaf is computed in place if nothing
    reads its old numbers later. Both save memory traffic.

    Args:
        program: the program whose outputs are changed in place.
        state: leaves of the state.

    Returns:
        For each leaf of the next state, the number of the leaf of the present state whose memory it takes over; None
            if it has new memory.
    """
    nests, origins, bound = Nests(program), list[int | None](), set[Value]()
    for number, output in enumerate(program.outputs):
        value = output.value
        origin = next((n for n, leaf in enumerate(state) if leaf is value and output.is_whole), None)
        if origin is not None and (origin in origins or _ends_in(origins, origin, number)):
            origin = None
        origins.append(origin)
        has_memory = output.is_whole and value.nest >= 0 and not value.fixed and value.home is None
        if origin is None and (not has_memory or value in bound):
            output = nests.copy(output, fixed=False)
        output.value.stored = True
        program.outputs[number] = output
        bound.add(output.value)
    for number, leaf in enumerate(state):
        if origins[number] is None and number not in origins and _may_replace(program, program.outputs[number], leaf):
            origins[number] = number
    return origins


def _ends_in(origins: Sequence[int | None], origin: int, number: int) -> bool:
    """Return whether following `origins` from a leaf leads to the memory of leaf `number`."""
    last: int | None = origin
    while last is not None and last < len(origins) and last != origins[last]:
        last = origins[last]
    return last == number and origin != number


def _may_replace(program: Program, output: View, leaf: Value) -> bool:
    """Return whether a leaf can be updated in place: each number is computed after the last use of the old one."""
    place = next(
        (
            (number, position)
            for number, nest in enumerate(program.nests)
            for position, statement in enumerate(nest.statements)
            if isinstance(statement, Compute) and statement.target is output.value
        ),
        None,
    )
    if place is None or output.value.overwritten or output.value.domain is None:
        return False
    for number, nest in enumerate(program.nests):
        for position, statement in enumerate(nest.statements):
            for view in operands(statement):
                same_index = number == place[0] and view.is_whole and view.shape == nest.domain
                if view.value is leaf and not (number < place[0] or (same_index and position <= place[1])):
                    return False
    return True
