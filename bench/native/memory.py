"""Memory allocation for a training loop: C++ names of the values that are stored, and their offsets in a workspace.

The memory of a value is used again after the last nest that reads it, so that the workspace fits into the processor's
cache. Where lanes are replicas, that nest may write a new value in its place, number by number.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.values import Call, Compute, Nest, Reduce, Statement, StoreStep, Value, View


class Workspace:
    """Assigns parts of one block of memory to values.

    Args:
        layout: layout of the memory.

    Attributes:
        size: bytes that are needed so far, divided by `Layout.scale`.
    """

    def __init__(self, layout: Layout) -> None:
        self.size = 0
        self._layout = layout
        self._n_values = 0
        self._free: list[tuple[int, int]] = []  # (offset, bytes) of places that can be used again

    def keep(self, value: Value, name: str = "") -> str:
        """Assign memory that no other value ever uses to a value, and return its C++ declaration."""
        return self._declaration(value, self._grow(self._layout.bytes_of(value)), name)

    def share(
        self,
        nests: Sequence[Nest],
        homes: dict[Value, str],
        repeated: range = range(0),
        kept: Callable[[Value], Value] = lambda value: value,
        local: Collection[Value] = (),
    ) -> list[str]:
        """Assign memory to all values of the nests that run at every update, and return their C++ declarations.

        Args:
            nests: the nests of the update.
            homes: values that have memory elsewhere -> its C++ name.
            repeated: numbers of the nests that run in turn, once for each tile of rows (`bench.native.row_tiles`).
            kept: maps a value to the part of it that is in memory at a time.
            local: values that are computed again for each tile.
        """
        lives = _lives(nests)
        in_use: dict[Value, tuple[int, int, int]] = {}  # value -> (last nest that reads it, offset, bytes)
        declarations = []
        for value, (start, end) in lives.items():
            if value not in local and (start in repeated or end in repeated):
                lives[value] = min(start, repeated.start), max(end, repeated.stop - 1)
        for value in sorted(stored_roots(nests), key=lambda value: lives[value][0]):
            if value in homes:
                value.pointer = homes[value]
                continue
            start, end = lives[value]
            self._free += [(offset, size) for last, offset, size in in_use.values() if last < start]
            in_use = {other: place for other, place in in_use.items() if place[0] >= start}
            size = self._layout.bytes_of(kept(value))
            # Where lanes are neighbours of one replica this was not measured; there row tiles keep values in the cache.
            for other in _replaceable(value, nests[start]) if self._layout.across else ():
                if other in in_use and in_use[other][::2] == (start, size):
                    _, offset, _ = in_use.pop(other)
                    break
            else:
                offset = self._reuse(size)
            in_use[value] = end, offset, size
            declarations.append(self._declaration(value, offset))
        return declarations

    def _grow(self, size: int) -> int:
        self.size += size
        return self.size - size

    def _reuse(self, wanted: int) -> int:
        """Return the offset of the smallest free place that is large enough, or of a new one."""
        fitting = [place for place in self._free if place[1] >= wanted]
        if not fitting:
            return self._grow(wanted)
        offset, size = min(fitting, key=lambda place: place[1])
        self._free.remove((offset, size))
        if size > wanted:
            self._free.append((offset + wanted, size - wanted))
        return offset

    def _declaration(self, value: Value, offset: int, name: str = "") -> str:
        """Name a value; names in the source of the other layout, which has other values too, do not count."""
        self._n_values += not name
        value.pointer = name or f"v{self._n_values}"
        kind = self._layout.type_of(value.dtype)
        return f"{kind}* const {value.pointer} = ({kind}*)(workspace + {offset} * {self._layout.scale});"


def root(value: Value) -> Value:
    """Return the value whose memory contains the given value; the value itself if it has memory of its own."""
    return value if value.home is None else root(value.home[0])


def stored_roots(nests: Sequence[Nest]) -> list[Value]:
    """Return the values that need memory of their own, in the order of computation."""
    statements = (statement for nest in nests for statement in nest.statements)
    return list(dict.fromkeys(root(value) for statement in statements for value in targets(statement) if value.stored))


def targets(statement: Statement) -> tuple[Value, ...]:
    """Return the values that a statement writes."""
    if isinstance(statement, Call):
        return statement.targets
    return (statement.target.value if isinstance(statement, StoreStep) else statement.target,)


def operands(statement: Statement) -> tuple[View, ...]:
    """Return the windows that a statement reads."""
    return (statement.operand,) if isinstance(statement, Reduce | StoreStep) else statement.operands


def _touched(statement: Statement) -> Iterator[Value]:
    yield from targets(statement)
    yield from (view.value for view in operands(statement))


def _replaceable(value: Value, nest: Nest) -> list[Value]:
    """Return the values of which a nest reads each number for the last time where it writes that number of `value`."""
    number = next(
        (n for n, step in enumerate(nest.statements) if isinstance(step, Compute) and step.target is value), None
    )
    if number is None:
        return []
    before, after = nest.statements[: number + 1], nest.statements[number + 1 :]
    read = [view for statement in before for view in operands(statement)]
    elsewhere = {root(view.value) for view in read if not (view.is_whole and view.shape == nest.domain)}
    elsewhere |= {root(other) for statement in after for other in _touched(statement)}
    return [view.value for view in read if root(view.value) not in elsewhere]


def _lives(nests: Sequence[Nest]) -> dict[Value, tuple[int, int]]:
    """Return the numbers of the first and the last nest that touch each piece of memory."""
    lives: dict[Value, tuple[int, int]] = {}
    for number, nest in enumerate(nests):
        for statement in nest.statements:
            for value in map(root, _touched(statement)):
                lives[value] = lives.get(value, (number,))[0], number
    return lives
