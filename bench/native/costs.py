"""Estimates how long an update takes in each layout, to choose between them. The choice never changes a fit's bits."""

from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.loops import merged, reductions_of, windows
from lockstep_bench.bench.native.memory import stored_roots
from lockstep_bench.bench.native.values import Call, Nest, Program

# Steps, each of which computes one SIMD value.
PER_NEST, PER_PRODUCT = 10, 40  # before and after the loops
PER_NORMAL = 10  # Box and Muller's transform, and the generator's words in lanes
PER_WORD = 6  # of the generator of one replica, for two numbers
WORTH_TWO_LOOPS = 0.85  # of the time of the better layout; two loops take twice as long to compile
CACHED_NUMBERS, BEYOND_CACHE = 1 << 16, 1.3  # of a block; the factor by which steps of larger blocks take longer


def steps(program: Program, layout: Layout, n_normals: int) -> float:
    """Return about how many SIMD values an update of one block computes, or moves in the time of one.

    Args:
        program: program of the update.
        layout: layout of the memory; a block is one replica, or as many as there are lanes.
        n_normals: normal numbers that it draws per replica.
    """
    total = sum(_of_call(nest, layout) if nest.domain is None else _of_loops(nest, layout) for nest in program.nests)
    if layout.across:
        total += PER_NORMAL * n_normals
    else:
        total += (PER_NORMAL / layout.lanes + PER_WORD / 2) * n_normals
    numbers = sum(value.size for value in stored_roots(program.nests)) * (layout.lanes if layout.across else 1)
    return total * (BEYOND_CACHE if numbers > CACHED_NUMBERS else 1)


def _of_loops(nest: Nest, layout: Layout) -> float:
    assert nest.domain is not None
    if not layout.across:
        nest = merged(nest)
    assert nest.domain is not None
    summed = {axis for statement in reductions_of(nest) for axis in statement.axes}
    axis = layout.axis(nest.domain, windows(nest), summed)
    indices = 1.0
    for place, size in enumerate(nest.domain):
        indices *= -(-size // layout.lanes) if place == axis else size
    apart = 0 if axis is None else sum(view.strides[axis] not in (0, 1) for view in windows(nest))
    return PER_NEST + indices * (2 * len(nest.statements) + layout.lanes * apart)


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
        return rows * inner * columns
    by_columns, by_rows = (
        inner * (one * -(-other // layout.lanes)) for one, other in ((rows, columns), (columns, rows))
    )
    return min(by_columns, by_rows + rows * inner, rows * inner * columns)


def replicas_across(n_replicas: int, lanes: int, block: float, single: float) -> int:
    """Return how many replicas, from the first, share their lanes with others; the rest are computed one by one.

    Args:
        n_replicas: R.
        lanes: replicas of a block.
        block: steps of a block.
        single: steps of one replica alone.
    """

    def cost(n_across: int) -> float:
        return -(-n_across // lanes) * block + (n_replicas - n_across) * single

    whole = n_replicas // lanes * lanes
    best = min((n_replicas, 0), key=cost)
    return whole if cost(whole) < WORTH_TWO_LOOPS * cost(best) else best
