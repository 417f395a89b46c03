"""Translation of loop nests to C++."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch

from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.memory import operands
from lockstep_bench.bench.native.operators import C_TYPES, LANES
from lockstep_bench.bench.native.values import (
    Call,
    Compute,
    Nest,
    Reduce,
    Shape,
    Statement,
    StoreStep,
    Value,
    View,
    contiguous_strides,
)

AT_ONCE = 4  # sums that are formed side by side, because one sum waits for its last addition


class LoopWriter:
    """Writes loop nests as C++ code, and collects the constants that they read.

    Args:
        layout: layout of the memory.

    Attributes:
        constants: values that are the same for all replicas -> names of their C++ arrays.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.constants: dict[Value, str] = {}

    def lines(self, nests: Sequence[Nest]) -> Iterator[str]:
        """Yield the lines of C++ code for nests, in their order."""
        for nest in nests:
            if nest.domain is None:
                (call,) = nest.statements
                assert isinstance(call, Call)
                targets = [address(View.of(value)) for value in call.targets]
                yield call.text.format(*targets, *map(address, call.operands))
            elif nest.statements:
                yield from _NestWriter(self, nest).lines()

    def declarations(self) -> Iterator[str]:
        """Yield the C++ declarations of the constants."""
        for value, name in self.constants.items():
            assert value.constant is not None
            numbers = ", ".join(map(_number, value.constant.flatten().tolist()))
            length = value.size + self.layout.slack
            yield f"static const {C_TYPES[value.dtype]} {name}[{length}] = {{{numbers}}};"


@dataclass(frozen=True)
class _Block:
    """Lanes that one statement computes.

    Attributes:
        offset: steps of the loop from its index to the first lane.
        lanes: number of lanes in use, if the lanes are steps of the loop.
    """

    offset: int = 0
    lanes: int = 1

    @property
    def suffix(self) -> str:
        """Suffix of the names of its variables."""
        return f"_{self.offset}" if self.offset else ""


class _NestWriter:
    """Writes one loop nest.

    Axes that all reductions sum over are the innermost loops. VIFA takes a tenth longer if they are outer loops.
    """

    def __init__(self, writer: LoopWriter, nest: Nest):
        self._writer, self._layout = writer, writer.layout
        self._nest = nest if self._layout.across else merged(nest)
        assert self._nest.domain is not None
        self._domain = domain = self._nest.domain
        reductions = reductions_of(self._nest)
        self._names = {statement: f"a{number}" for number, statement in enumerate(reductions)}
        innermost = reductions[0].axes if len({statement.axes for statement in reductions}) == 1 else ()
        depth = len(domain)
        self._order = [axis for axis in range(depth) if axis not in innermost] + list(innermost)
        # An accumulator is a register, declared at a level of the loops, if all loops below that level are summed over.
        self._levels = {
            statement: depth - len(statement.axes)
            for statement in reductions
            if statement.axes == tuple(self._order[depth - len(statement.axes) :])
        }
        self._lane_axis = self._layout.axis(domain, windows(self._nest), [statement.axes for statement in reductions])
        self._folds = any(self._lane_axis in statement.axes for statement in reductions)
        # The loop over this axis makes several steps at once.
        n_outer = depth - len(innermost)
        beside = self._layout.across and 0 < n_outer < depth
        self._wide_axis = self._order[n_outer - 1] if beside else self._lane_axis

    def lines(self) -> Iterator[str]:
        """Yield its lines."""
        yield "{"
        for statement in self._names:
            if statement not in self._levels:
                start = address(View.of(statement.target))
                begun = self._stored(start, "i", statement.start, 1, 1)
                yield "if (row == 0)" if statement.continues else ""
                yield f"for (int i = 0; i < {statement.target.size}; i++) {begun}"
        yield from self._loops(0, [_Block()])
        yield "}"

    def _loops(self, level: int, blocks: list[_Block]) -> Iterator[str]:
        """Yield the loops from a level on, for blocks of lanes side by side."""
        begun = [statement for statement, at in self._levels.items() if at == level]
        for statement, block in product(begun, blocks):
            kind = LANES[statement.target.dtype]
            name = f"{self._names[statement]}{block.suffix}"
            yield f"{kind} {name} = {statement.start};"
            if statement.continues:
                yield f"if (row > 0) {name} = {self._element(self._sum_of(statement), block)};"
        if level == len(self._order):
            for block in blocks:
                yield from self._body(block)
        elif self._order[level] == self._wide_axis:
            yield from self._wide_loop(level)
        else:
            axis = self._order[level]
            yield f"for (int i{axis} = 0; i{axis} < {self._domain[axis]}; i{axis}++) {{"
            yield from self._loops(level + 1, blocks)
            yield "}"
        for statement, block in product(begun, blocks):
            yield self._written(self._sum_of(statement), f"{self._names[statement]}{block.suffix}", block)

    def _wide_loop(self, level: int) -> Iterator[str]:
        """Yield the loop that makes several steps at once: in the lanes of one replica, or beside one another."""
        axis, size = self._order[level], self._domain[self._order[level]]
        if self._layout.across:
            width, together = 1, max(1, AT_ONCE // len(self._levels))
        else:
            width, together = self._layout.lanes, AT_ONCE if max(self._levels.values(), default=0) > level else 1
        step = width * together
        if steps := size // step:
            yield f"for (int i{axis} = 0; i{axis} < {steps * step}; i{axis} += {step}) {{"
            yield from self._loops(level + 1, [_Block(place * width, width) for place in range(together)])
            yield "}"
        if rest := size % step:
            yield f"{{ const int i{axis} = {steps * step};"
            offsets = range(0, rest, width)
            yield from self._loops(level + 1, [_Block(offset, min(width, rest - offset)) for offset in offsets])
            yield "}"

    def _body(self, block: _Block) -> Iterator[str]:
        known: dict[Value, str] = {}
        for number, statement in enumerate(self._nest.statements):
            if isinstance(statement, Compute):
                texts = [self._read(view, known, block) for view in statement.operands]
                target, name = statement.target, f"t{number}{block.suffix}"
                known[target] = name
                yield f"const {LANES[target.dtype]} {name} = {statement.expression.format(*texts)};"
                if target.stored:
                    yield self._written(_over(target, self._domain), name, block)
            elif isinstance(statement, Reduce):
                operand, window = self._read(statement.operand, known, block), self._sum_of(statement)
                if self._folds:
                    yield self._folded(statement, operand, block)
                elif statement in self._levels:
                    name = f"{self._names[statement]}{block.suffix}"
                    yield f"{name} = {statement.combine.format(name, operand)};"
                else:
                    yield self._written(window, statement.combine.format(self._element(window, block), operand), block)
            elif not isinstance(statement, Call):
                yield self._written(statement.target, self._read(statement.operand, known, block), block)

    def _folded(self, statement: Reduce, operand: str, block: _Block) -> str:
        """Return the statement that adds the lanes of a number to an accumulator, in their order."""
        name, kind = self._names[statement], LANES[statement.operand.value.dtype]
        combined = statement.combine.format(name, "splat(terms[lane])")
        loop = f"for (int lane = 0; lane < {block.lanes}; lane++) {name} = {combined};"
        return f"{{ const {kind} terms = {operand}; {loop} }}"

    def _read(self, view: View, known: dict[Value, str], block: _Block) -> str:
        """Return the expression of a window's number at the present indices of the loops."""
        value = view.value
        if value in known and view.is_whole:
            return known[value]
        if value.constant is None:
            return self._element(view, block)
        numbers = value.constant.flatten()
        sign = "-" if value.dtype == torch.bool else ""
        if len(numbers) and bool((numbers == numbers[0]).all()):
            return f"splat({C_TYPES[value.dtype]}({sign}{_number(numbers[0].item())}))"
        name = self._writer.constants.setdefault(value, f"c{len(self._writer.constants)}")
        if self._layout.across:
            position = _position(view, block.offset * self._step(view))
            return f"splat({C_TYPES[value.dtype]}({sign}{name}[{position}]))"
        return sign + self._loaded(name, view, block)

    def _element(self, view: View, block: _Block) -> str:
        start = address(View(view.value, view.shape, view.strides))
        if self._layout.across:
            return f"{start}[{_position(view, block.offset * self._step(view))}]"
        return self._loaded(start, view, block)

    def _loaded(self, start: str, view: View, block: _Block) -> str:
        """Return the expression of the numbers of a window in the lanes of one replica."""
        kind, step = LANES[view.value.dtype], self._step(view)
        place = f"{start} + {_position(view, block.offset * step)}"
        if step == 0:
            return f"splat(*({place}))"
        return f"load<{kind}>({place})" if step == 1 else f"strided<{kind}, {block.lanes}>({place}, {step})"

    def _written(self, view: View, text: str, block: _Block) -> str:
        """Return the statement that writes a window's number, or numbers in the lanes of one replica."""
        step = self._step(view)
        start = address(View(view.value, view.shape, view.strides))
        return self._stored(start, _position(view, block.offset * step), text, block.lanes, step)

    def _stored(self, start: str, position: str, text: str, lanes: int, step: int) -> str:
        if self._layout.across:
            return f"{start}[{position}] = {text};"
        place = f"{start} + {position}"
        return f"store<{lanes}>({place}, {text});" if step == 1 else f"scatter<{lanes}>({place}, {text}, {step});"

    def _step(self, view: View) -> int:
        """Return the numbers from one step of the wide loop to the next."""
        return 1 if self._wide_axis is None else view.strides[self._wide_axis]

    def _sum_of(self, statement: Reduce) -> View:
        """Return the window onto a reduction's result that loops over the domain go through."""
        kept = tuple(1 if axis in statement.axes else size for axis, size in enumerate(self._domain))
        return _over(statement.target, kept)


def reductions_of(nest: Nest) -> list[Reduce]:
    """Return the reductions of a nest."""
    return [statement for statement in nest.statements if isinstance(statement, Reduce)]


def windows(nest: Nest) -> list[View]:
    """Return the windows that a nest reads and writes at every index, expanded to the shape of its domain."""
    assert nest.domain is not None
    computed, views = set[Value](), list[View]()
    for statement in nest.statements:
        views += [view for view in operands(statement) if not (view.value in computed and view.is_whole)]
        if isinstance(statement, Compute):
            computed.add(statement.target)
            if statement.target.stored:
                views.append(_over(statement.target, nest.domain))
        elif isinstance(statement, StoreStep):
            views.append(statement.target)
    return views


def merged(nest: Nest) -> Nest:
    """Return an equal nest with fewer axes: neighbouring axes become one if all windows are contiguous along both."""
    assert nest.domain is not None
    domain, views, sums = nest.domain, windows(nest), [statement.axes for statement in reductions_of(nest)]
    for axis in range(len(domain) - 1):
        side_by_side = all(view.strides[axis] == view.strides[axis + 1] * domain[axis + 1] for view in views)
        if side_by_side and all((axis in axes) == (axis + 1 in axes) for axes in sums):
            fewer = (*domain[:axis], domain[axis] * domain[axis + 1], *domain[axis + 2 :])
            return merged(Nest(fewer, [_with_merged(statement, axis) for statement in nest.statements]))
    return nest


def _with_merged(statement: Statement, axis: int) -> Statement:
    def merged(view: View) -> View:
        shape = (*view.shape[:axis], view.shape[axis] * view.shape[axis + 1], *view.shape[axis + 2 :])
        return View(view.value, shape, (*view.strides[:axis], *view.strides[axis + 1 :]), view.offset)

    if isinstance(statement, Compute):
        return replace(statement, operands=tuple(map(merged, statement.operands)))
    if isinstance(statement, Reduce):
        axes = tuple(at - (at > axis) for at in statement.axes if at != axis + 1)
        return replace(statement, operand=merged(statement.operand), axes=axes)
    if isinstance(statement, StoreStep):
        return replace(statement, target=merged(statement.target), operand=merged(statement.operand))
    return statement


def address(view: View) -> str:
    """Return a C++ expression of the pointer to the first element of a window."""
    value, offset = view.value, view.offset
    while value.home is not None:
        value, place = value.home
        offset += place
    return f"({value.pointer} + {offset})" if offset else value.pointer


def _over(value: Value, domain: Shape) -> View:
    """Return the window onto all of a value that loops over a domain go through; axes of length one do not move it."""
    strides = contiguous_strides(domain)
    return View(value, domain, tuple(0 if size == 1 else stride for size, stride in zip(domain, strides, strict=True)))


def _position(view: View, further: int = 0) -> str:
    """Return the index of a window's number at the present indices of the loops, or some numbers further on."""
    terms, offset = [f"{stride} * i{axis}" for axis, stride in enumerate(view.strides) if stride], view.offset + further
    return " + ".join([str(offset), *terms] if offset or not terms else terms)


def _number(number: float | bool) -> str:
    text = repr(int(number)) if isinstance(number, bool) else repr(number)
    return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(text, text)
