"""Moves elementwise computations into the loops that use their results, so that the results need not be stored."""

from collections.abc import Sequence

from lockstep_bench.bench.native.memory import operands
from lockstep_bench.bench.native.values import Compute, Nest, Program, Value, View

MAX_READS = 1  # of whole values that the later nest does not read anyway; storing and loading a result is two passes


def delay(program: Program) -> None:
    """Move elementwise computations into the loops that read their results.

    A computation is moved into a later loop nest if this nest alone reads its results and runs over the same indices.
    Autograd, for example, computes the gradient of a prior long before the gradient to which it is added.
    """
    for number in reversed(range(len(program.nests))):
        for statement in reversed(program.nests[number].statements):
            if isinstance(statement, Compute) and statement.target.stored:
                _delay(program, number, statement)


def _delay(program: Program, number: int, statement: Compute) -> None:
    nests, target = program.nests, statement.target
    later = _reader(program, target)
    if later is None or later <= number or target.domain is None or target.overwritten or target.home is not None:
        return
    if nests[later].domain != nests[number].domain or not all(
        view.is_whole for view in _reads(nests[later]) if view.value is target
    ):
        return
    moved = _with_operands(nests[number], statement)
    given = {step.target for step in moved}
    needed = {view.value for step in moved for view in step.operands if view.value not in given}
    if any(value.nest == number and not value.fixed and not value.stored for value in needed):
        return
    large = {value for value in needed if value.size >= target.size}
    if len(large - {view.value for view in _reads(nests[later])}) > MAX_READS:
        return
    nests[number].statements = [step for step in nests[number].statements if step not in moved]
    nests[later].statements = [*moved, *nests[later].statements]
    for step in moved:
        step.target.nest = later
    target.stored = False


def _with_operands(nest: Nest, last: Compute) -> list[Compute]:
    """Return a computation after those in its nest whose results nothing else uses."""
    moved = [last]
    for step in reversed(nest.statements[: nest.statements.index(last)]):
        if isinstance(step, Compute) and not step.target.stored:
            readers = [other for other in nest.statements if step.target in {view.value for view in operands(other)}]
            if readers and all(reader in moved for reader in readers):
                moved.insert(0, step)
    return moved


def _reader(program: Program, value: Value) -> int | None:
    """Return the number of the only nest that reads a value; None if there are others, or it is an output."""
    readers = [number for number, nest in enumerate(program.nests) if any(view.value is value for view in _reads(nest))]
    is_output = any(view.value is value for view in program.outputs)
    return readers[0] if len(readers) == 1 and not is_output else None


def _reads(nest: Nest) -> Sequence[View]:
    return [view for statement in nest.statements for view in operands(statement)]
