"""Division of the rows of a minibatch into tiles of a few rows, so that intermediate values stay in the cache.

Everything that an update computes separately for each row, from the features to the gradients that are summed over
rows, is computed for one tile after the other. Memory is needed for the rows of one tile only. Every sum has the same
terms in the same order as without tiles.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.loops import LoopWriter, address
from lockstep_bench.bench.native.memory import operands, root, targets
from lockstep_bench.bench.native.operators import BYTES, LANES
from lockstep_bench.bench.native.tile_heights import MOST_BYTES_AROUND, height_across, height_of_one
from lockstep_bench.bench.native.values import Call, Compute, Nest, Program, Reduce, Statement, StoreStep, Value, View


@dataclass
class RowTiles:
    """The nests of an update that run once per tile, and the nests before and after them.

    Each nest that runs per tile computes rows of a value from the same rows of other values, or sums over rows.

    Attributes:
        n_rows: number of rows in the minibatch.
        height: number of rows in a tile; the last tile may have fewer.
        before: nests that run once, before the tiles.
        nests: nests that run for each tile.
        after: nests that run once, after the tiles.
        strides: values with one row for each row of the minibatch -> number of elements in a row.
        local: values in `strides` that only `nests` use, so that memory for one tile is enough.
    """

    n_rows: int
    height: int = 0
    before: list[Nest] = field(default_factory=list)
    nests: list[Nest] = field(default_factory=list)
    after: list[Nest] = field(default_factory=list)
    strides: dict[Value, int] = field(default_factory=dict)
    local: set[Value] = field(default_factory=set)

    def kept(self, value: Value) -> Value:
        """Return the part of a value that is in memory at a time: one tile of a local value, otherwise all of it."""
        return self._part(value, self.height) if value in self.local else value

    def lines(self, writer: LoopWriter) -> Iterator[str]:
        """Yield the lines of C++ code for all nests, in the order of execution."""
        yield from writer.lines(self.before)
        whole = self.n_rows // self.height * self.height
        yield f"for (int row = 0; row < {whole}; row += {self.height}) {{"
        yield from writer.lines(self._of_tile(self.height))
        yield "}"
        if whole < self.n_rows:
            yield f"{{ const int row = {whole};"
            yield from writer.lines(self._of_tile(self.n_rows - whole))
            yield "}"
        yield from writer.lines(self.after)

    def _part(self, value: Value, height: int) -> Value:
        return replace(value, shape=(height * self.strides[value],), home=None, pointer=address(View.of(value)))

    def _of_tile(self, height: int) -> list[Nest]:
        """Return the nests of `height` rows from row `row`."""
        parts = {value: self._part(value, height) for value in self.strides}
        for value, part in parts.items():
            if value not in self.local:
                part.pointer = f"({part.pointer} + row * {self.strides[value]})"

        def moved(view: View) -> View:
            part = parts.get(view.value)
            shape = (height, *view.shape[1:]) if view.shape and view.shape[0] == self.n_rows else view.shape
            return replace(view, value=part or view.value, shape=shape)

        def tile_of(statement: Statement) -> Statement:
            if isinstance(statement, Call):
                return self._call(statement, height, parts, moved)
            if isinstance(statement, StoreStep):
                return StoreStep(moved(statement.target), moved(statement.operand))
            target = parts.get(statement.target, statement.target)
            if isinstance(statement, Reduce):
                return replace(
                    statement, target=target, operand=moved(statement.operand), continues=0 in statement.axes
                )
            return replace(statement, target=target, operands=tuple(map(moved, statement.operands)))

        return [
            Nest(nest.domain and (height, *nest.domain[1:]), list(map(tile_of, nest.statements))) for nest in self.nests
        ]

    def _call(self, call: Call, height: int, parts: dict[Value, Value], moved: Callable[[View], View]) -> Call:
        targets = tuple(parts.get(target, target) for target in call.targets)
        views = tuple(map(moved, call.operands))
        if call.takes:
            text = f"take_rows<{height}, {self.strides[call.targets[0]]}>({{0}}, {call.takes}, {{1}});"
        else:
            assert call.product
            strides = ", ".join(str(stride) for view in call.operands for stride in view.strides)
            sizes = ", ".join(map(str, call.product))
            if len(targets) > 1:
                text = f"terms_of_product<{height}, {sizes}, {strides}>({{0}}, {{1}}, {{2}}, {{3}}, row);"
            elif _sums_rows(call, self):
                heights = f"{height}, {self.height}"
                text = f"terms_of_product<{heights}, {sizes}, {strides}>({{0}}, {{1}}, {{2}}, row == 0);"
            else:
                text = f"rows_of_product<{height}, {sizes}, {strides}>({{0}}, {{1}}, {{2}});"
        return replace(call, text=text, targets=targets, operands=views)


def row_tiles(program: Program, layout: Layout) -> RowTiles | None:
    """Return the division of an update's minibatch into tiles; None if the update does not gain by it."""
    indices = {call.operands[0].value for call in _calls([*program.once, *program.nests]) if call.takes}
    if len(indices) != 1:
        return None
    (index,) = indices
    tiles = RowTiles(index.size, strides={index: 1})
    for nest in program.once:
        _note_fixed_rows(nest, tiles)
    for nest in program.nests:
        _place(nest, tiles, {output.value for output in program.outputs})
    elsewhere = {value for nest in (*program.once, *tiles.before, *tiles.after) for value in _touched(nest)}
    tiles.local = {value for value in tiles.strides if root(value) not in elsewhere} - {index}
    if not layout.across:
        tiles.nests = [_with_copied_rows(nest, tiles) for nest in tiles.nests]
        tiles.height = height_of_one(tiles.n_rows, _bytes_of_row(tiles), _sums(tiles), layout.lanes)
    else:
        tiles.nests = [_with_pieces(nest, tiles) for nest in tiles.nests]
        around = _around(tiles, layout)
        if around > MOST_BYTES_AROUND:
            return None
        tiles.height = height_across(tiles.n_rows, layout.lanes * _bytes_of_row(tiles), around)
    return tiles if tiles.nests and 2 * tiles.height <= tiles.n_rows else None


def _place(nest: Nest, tiles: RowTiles, outputs: set[Value]) -> None:
    """Put a nest among those of the rows, or before or after them."""
    if not nest.statements:
        return
    reads, writes = _reads(nest), _writes(nest)
    summed = {root(value) for each in tiles.nests for value in _writes(each)} - tiles.strides.keys()
    waits = any(_conflict(nest, other) for other in tiles.after) or bool(reads & summed)
    if not waits and not writes & outputs and _note_rows(nest, tiles):
        tiles.nests.append(nest)
    elif not waits and not writes & outputs and not any(_conflict(nest, other) for other in tiles.nests):
        tiles.before.append(nest)
    else:
        tiles.after.append(nest)


def _note_fixed_rows(nest: Nest, tiles: RowTiles) -> None:
    """Note the rows that a nest computes before the first update, whatever it reads: masks come from constants."""
    if nest.domain is None:
        _note_rows(nest, tiles)
    elif nest.domain and nest.domain[0] == tiles.n_rows:
        strides = _strides_of_results(nest)
        whole = {value: stride for value, stride in strides.items() if root(value).size == tiles.n_rows * stride}
        _note_results(whole, tiles)


def _note_results(strides: dict[Value, int], tiles: RowTiles) -> None:
    tiles.strides.update(strides)
    tiles.strides.update({root(value): stride for value, stride in strides.items()})


def _note_rows(nest: Nest, tiles: RowTiles) -> bool:
    """Return whether a nest computes rows from rows, or sums over rows; if so, note the rows that it computes."""
    if nest.domain is None:
        (call,) = nest.statements
        assert isinstance(call, Call)
        return _note_call(call, tiles)
    if not nest.domain or nest.domain[0] != tiles.n_rows:
        return False
    strides = _strides_of_results(nest)
    if any(root(value).size != tiles.n_rows * stride for value, stride in strides.items()):
        return False
    known = tiles.strides | strides
    views = [view for statement in nest.statements for view in _windows(statement)]
    read = [view for view in views if not (view.value in strides and view.is_whole)]
    if not any(view.value in known for view in read) or not all(_in_rows(view, known) for view in read):
        return False
    _note_results(strides, tiles)
    return True


def _in_rows(view: View, strides: dict[Value, int]) -> bool:
    """Return whether a window moves by one row along the first axis of a nest, or does not move."""
    stride = strides.get(view.value, 0)
    return view.strides[0] == stride and (stride == 0 or view.offset < stride)


def _windows(statement: Statement) -> tuple[View, ...]:
    return (*operands(statement), statement.target) if isinstance(statement, StoreStep) else operands(statement)


def _strides_of_results(nest: Nest) -> dict[Value, int]:
    """Return the numbers of a row of each value that a nest computes for each row, its first axis."""
    assert nest.domain is not None
    strides = {}
    for statement in nest.statements:
        if isinstance(statement, Compute):
            strides[statement.target] = prod(nest.domain[1:])
        elif isinstance(statement, Reduce) and 0 not in statement.axes:
            kept = [size for axis, size in enumerate(nest.domain) if axis not in statement.axes]
            strides[statement.target] = prod(kept[1:])
    return strides


def _note_call(call: Call, tiles: RowTiles) -> bool:
    if call.takes:
        tiles.strides[call.targets[0]] = call.targets[0].size // tiles.n_rows
        return True
    if not call.product or len(call.operands) != 2 or any(len(view.shape) != 2 for view in call.operands):
        return False
    left, right = call.operands
    of_left, of_right = (tiles.strides.get(view.value) for view in (left, right))
    rows, inner, columns = call.product
    (target,) = call.targets
    if (inner, left.strides[1], right.strides[0]) == (tiles.n_rows, of_left, of_right):
        return True
    if (rows, left.strides[0]) == (tiles.n_rows, of_left) and of_right is None and target.home is None:
        tiles.strides[target] = columns
        return True
    return False


def _with_copied_rows(nest: Nest, tiles: RowTiles) -> Nest:
    """Return a matrix product whose right factor is contiguous by rows; otherwise every tile would copy it."""
    (call, *_) = nest.statements
    if not isinstance(call, Call) or not call.product or call.targets[0] not in tiles.strides:
        return nest
    left, right = call.operands
    if right.strides[1] == 1 or right.shape[1] == 1:
        return nest
    copied = Value(right.shape, right.value.dtype, fixed=False, stored=True)
    sizes = ", ".join(map(str, (*right.shape, *right.strides)))
    tiles.before.append(Nest(None, [Call(f"copy_rows<{sizes}>({{0}}, {{1}});", (copied,), (right,))]))
    return Nest(None, [replace(call, operands=(left, View.of(copied)))])


def _around(tiles: RowTiles, layout: Layout) -> int:
    """Return the bytes of all numbers that the nests of tiles use besides those of rows, such as weights."""
    others = {value for nest in tiles.nests for value in _touched(nest)} - tiles.strides.keys()
    return layout.lanes * sum(map(layout.bytes_of, others))


def _with_pieces(nest: Nest, tiles: RowTiles) -> Nest:
    """Return a matrix product that sums over rows, with memory for the sums of terms that are added together."""
    (call, *_) = nest.statements
    if not isinstance(call, Call) or not call.product or not _sums_rows(call, tiles):
        return nest
    (target,) = call.targets
    piece = Value(target.shape, target.dtype, fixed=False, stored=True)
    return Nest(None, [replace(call, targets=(target, piece))])


def _sums(tiles: RowTiles) -> list[tuple[int, int, int]]:
    """Return the sizes of the matrix products that sum over rows."""
    return [call.product for call in _calls(tiles.nests) if call.product and _sums_rows(call, tiles)]


def _bytes_of_row(tiles: RowTiles) -> int:
    """Return the bytes of a row of all values that only a tile uses, for one replica."""
    local = (value for value in tiles.local if value.stored and value.home is None)
    return max(1, sum(tiles.strides[value] * BYTES[LANES[value.dtype]] for value in local))


def _calls(nests: Iterable[Nest]) -> list[Call]:
    return [statement for nest in nests for statement in nest.statements if isinstance(statement, Call)]


def _sums_rows(call: Call, tiles: RowTiles) -> bool:
    return call.targets[0] not in tiles.strides


def _reads(nest: Nest) -> set[Value]:
    return {root(view.value) for statement in nest.statements for view in operands(statement)}


def _writes(nest: Nest) -> set[Value]:
    return {root(value) for statement in nest.statements for value in targets(statement)}


def _touched(nest: Nest) -> set[Value]:
    return _reads(nest) | _writes(nest)


def _conflict(first: Nest, second: Nest) -> bool:
    return bool(_writes(first) & _touched(second) or _writes(second) & _touched(first))
