"""Writes loop nests in C++."""

from collections.abc import Iterator, Sequence

import torch

from lockstep_bench.bench.native.operators import C_TYPES, LANES
from lockstep_bench.bench.native.values import Call, Compute, Nest, Reduce, Shape, Value, View, contiguous_strides


class LoopWriter:
    """Writes nests; collects the constants that they read.

    Attributes:
        constants: values that are the same for all replicas, and the names of their C++ arrays.
    """

    def __init__(self) -> None:
        self.constants: dict[Value, str] = {}

    def lines(self, nests: Sequence[Nest]) -> Iterator[str]:
        """Yield the lines of nests, one after the other."""
        for nest in nests:
            if nest.domain is None:
                (call,) = nest.statements
                assert isinstance(call, Call)
                targets = [address(View.of(value)) for value in call.targets]
                yield call.text.format(*targets, *map(address, call.operands))
            else:
                yield from self._loops(nest, nest.domain)

    def declarations(self) -> Iterator[str]:
        """Yield the arrays of the constants."""
        for value, name in self.constants.items():
            assert value.constant is not None
            numbers = ", ".join(map(_number, value.constant.flatten().tolist()))
            yield f"static const {C_TYPES[value.dtype]} {name}[] = {{{numbers}}};"

    def _loops(self, nest: Nest, domain: Shape) -> Iterator[str]:  # noqa: C901 (a nest is written from top to bottom)
        reductions = [statement for statement in nest.statements if isinstance(statement, Reduce)]
        names = {statement: f"a{number}" for number, statement in enumerate(reductions)}
        # What all reductions sum over is innermost. With a pass over memory for each term, VIFA took a tenth longer.
        summed = reductions[0].axes if len({statement.axes for statement in reductions}) == 1 else ()
        depth = len(domain)
        order = [axis for axis in range(depth) if axis not in summed] + list(summed)
        # An accumulator is a register, declared at a level of the loops, if all loops below that level are summed over.
        registers = {
            statement: depth - len(statement.axes)
            for statement in names
            if statement.axes == tuple(order[depth - len(statement.axes) :])
        }
        yield "{"
        for statement in names:
            if statement not in registers:
                target = View.of(statement.target)
                yield f"for (int i = 0; i < {statement.target.size}; i++) {address(target)}[i] = {statement.start};"
        for level in range(depth + 1):
            for statement in names:
                if registers.get(statement) == level:
                    yield f"{LANES[statement.target.dtype]} {names[statement]} = {statement.start};"
            if level < depth:
                yield _loop(order[level], domain)
        yield from self._body(nest, domain, {statement: names[statement] for statement in registers})
        for level in reversed(range(depth + 1)):
            for statement in names:
                if registers.get(statement) == level:
                    yield f"{_sum_of(statement, domain)} = {names[statement]};"
            if level:
                yield "}"
        yield "}"

    def _body(self, nest: Nest, domain: Shape, registers: dict[Reduce, str]) -> Iterator[str]:
        known: dict[Value, str] = {}
        for number, statement in enumerate(nest.statements):
            if isinstance(statement, Compute):
                texts = [self._read(view, known) for view in statement.operands]
                target = statement.target
                known[target] = f"t{number}"
                yield f"const {LANES[target.dtype]} t{number} = {statement.expression.format(*texts)};"
                if target.stored:
                    yield f"{element(_over(target, domain))} = t{number};"
            elif isinstance(statement, Reduce):
                accumulator = registers.get(statement) or _sum_of(statement, domain)
                text = statement.combine.format(accumulator, self._read(statement.operand, known))
                yield f"{accumulator} = {text};"
            elif not isinstance(statement, Call):
                yield f"{element(statement.target)} = {self._read(statement.operand, known)};"

    def _read(self, view: View, known: dict[Value, str]) -> str:
        """Return the expression of a window's number at the present indices of the loops."""
        value = view.value
        if value in known and view.is_whole:
            return known[value]
        if value.constant is None:
            return element(view)
        numbers = value.constant.flatten()
        if len(numbers) and bool((numbers == numbers[0]).all()):
            text = _number(numbers[0].item())
        else:
            text = f"{self.constants.setdefault(value, f'c{len(self.constants)}')}[{_position(view)}]"
        return f"splat({C_TYPES[value.dtype]}({'-' if value.dtype == torch.bool else ''}{text}))"


def _loop(axis: int, domain: Shape) -> str:
    return f"for (int i{axis} = 0; i{axis} < {domain[axis]}; i{axis}++) {{"


def _sum_of(statement: Reduce, domain: Shape) -> str:
    """Return the lvalue of a reduction's result at the present indices of the loops."""
    kept = tuple(1 if axis in statement.axes else size for axis, size in enumerate(domain))
    return element(_over(statement.target, kept))


def address(view: View) -> str:
    """Return the pointer to a window's first number."""
    value, offset = view.value, view.offset
    while value.home is not None:
        value, place = value.home
        offset += place
    return f"({value.pointer} + {offset})" if offset else value.pointer


def element(view: View) -> str:
    """Return the lvalue of a window's number at the present indices of the loops."""
    start = View(view.value, view.shape, view.strides)
    return f"{address(start)}[{_position(view)}]"


def _over(value: Value, domain: Shape) -> View:
    """Return the window onto all of a value that loops over a domain go through; axes of length one do not move it."""
    strides = contiguous_strides(domain)
    return View(value, domain, tuple(0 if size == 1 else stride for size, stride in zip(domain, strides, strict=True)))


def _position(view: View) -> str:
    terms = [f"{stride} * i{axis}" for axis, stride in enumerate(view.strides) if stride]
    return " + ".join([str(view.offset), *terms] if view.offset or not terms else terms)


def _number(number: float | bool) -> str:
    text = repr(int(number)) if isinstance(number, bool) else repr(number)
    return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(text, text)
