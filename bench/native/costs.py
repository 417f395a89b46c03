"""Estimated time of an update in each memory layout, to choose the faster one. The choice changes no bit of a fit."""

from math import prod

from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.loops import merged, reductions_of, windows
from lockstep_bench.bench.native.memory import operands, stored_roots, targets
from lockstep_bench.bench.native.row_tiles import row_tiles
from lockstep_bench.bench.native.values import Call, Nest, Program, Value

# Steps, each of which takes about the time of a cycle.
PER_NEST, PER_PRODUCT = 10, 40  # before and after the loops
PER_LOOP = 1.5  # over the numbers in lanes
PER_FOLD = 4  # of a number that is added to the sum of the numbers before it
PER_TERM = 0.5  # of an inner product
PER_TERM_ACROSS = {16: 0.5, 8: 0.6, 4: 0.6}  # of one in each lane; with fewer registers, factors are read more often
PER_TRANSPOSED_TERM = 3  # of inner products of rows whose numbers lie side by side
PER_NORMAL = 10  # Box and Muller's transform, and the generator's words in lanes
PER_WORD = 6  # of the generator of one replica, for two numbers
# Of a SIMD value that is read or written, by the number of lanes, where a block has more numbers than a level of the
# processor's cache holds. On a Xeon with 16 lanes larger blocks take more time; on an EPYC with 8, and 32 MiB of L3
# cache, they do not.
PER_MOVE = {16: ((1 << 19, 6), (1 << 18, 1))}
WORTH_TWO_LOOPS = 0.85  # of the time of the better layout; two loops take twice as long to compile


def steps(program: Program, layout: Layout, n_normals: int) -> float:
    """Return an estimate of the number of processor cycles that an update of one block takes.

    Args:
        program: program of the update.
        layout: layout of the memory. A block is one replica, or as many replicas as there are lanes.
        n_normals: number of normal random numbers that an update draws for each replica.
    """
    total = sum(_of_call(nest, layout) if nest.domain is None else _of_loops(nest, layout) for nest in program.nests)
    if layout.across:
        total += PER_NORMAL * n_normals
    else:
        total += (PER_NORMAL / layout.lanes + PER_WORD / 2) * n_normals
    tiles = row_tiles(program, layout)
    nests, local = (program.nests, set[Value]()) if tiles is None else ([*tiles.before, *tiles.after], tiles.local)
    stored = sum(value.size for value in stored_roots(program.nests) if value not in local)
    numbers = stored * (layout.lanes if layout.across else 1)
    per_move = next((cost for least, cost in PER_MOVE.get(layout.lanes, ()) if numbers >= least), 0)
    return total + per_move * sum(_moved(nest, layout) for nest in nests)


def _moved(nest: Nest, layout: Layout) -> float:
    """Return how many SIMD values a nest reads and writes."""
    if nest.domain is None:
        sizes = (prod(view.shape) for statement in nest.statements for view in operands(statement))
        numbers = sum(sizes) + sum(value.size for statement in nest.statements for value in targets(statement))
    else:
        numbers = prod(nest.domain) * len(windows(nest))
    return numbers if layout.across else numbers / layout.lanes


def _of_loops(nest: Nest, layout: Layout) -> float:
    assert nest.domain is not None
    if not layout.across:
        nest = merged(nest)
    assert nest.domain is not None
    sums = [statement.axes for statement in reductions_of(nest)]
    axis = layout.axis(nest.domain, windows(nest), sums)
    indices = 1.0
    for place, size in enumerate(nest.domain):
        indices *= -(-size // layout.lanes) if place == axis else size
    loops = 0 if axis is None else prod(nest.domain) // nest.domain[axis]
    apart = 0 if axis is None else sum(view.strides[axis] not in (0, 1) for view in windows(nest))
    folded = sum(PER_FOLD * prod(nest.domain) for axes in sums if axis in axes)
    return PER_NEST + PER_LOOP * loops + indices * (2 * len(nest.statements) + layout.lanes * apart) + folded


def _of_call(nest: Nest, layout: Layout) -> float:
    (call,) = nest.statements
    assert isinstance(call, Call)
    if call.product:
        return PER_PRODUCT + _of_product(*call.product, layout)
    if call.factorises:
        return PER_PRODUCT + float(call.factorises) ** 3
    moved = sum(target.size for target in call.targets)
    return PER_NEST + moved * (layout.lanes if layout.across else 1)


def _of_product(rows: int, inner: int, columns: int, layout: Layout) -> float:
    if layout.across:
        return PER_TERM_ACROSS[layout.lanes] * rows * inner * columns
    by_columns, by_rows = (
        PER_TERM * inner * (one * -(-other // layout.lanes)) for one, other in ((rows, columns), (columns, rows))
    )
    if columns == 1:
        return PER_TRANSPOSED_TERM * inner * -(-rows // layout.lanes)
    return min(by_columns, by_rows + rows * inner)


def replicas_across(n_replicas: int, lanes: int, block: float, single: float) -> int:
    """Return how many of the first replicas are computed in blocks, one per SIMD lane; the others run one by one.

    Args:
        n_replicas: R, number of replicas.
        lanes: number of replicas in a block.
        block: cycles of an update of a block (`steps`).
        single: cycles of an update of one replica alone.
    """

    def cost(n_across: int) -> float:
        return -(-n_across // lanes) * block + (n_replicas - n_across) * single

    whole = n_replicas // lanes * lanes
    best = min((n_replicas, 0), key=cost)
    return whole if cost(whole) < WORTH_TWO_LOOPS * cost(best) else best
