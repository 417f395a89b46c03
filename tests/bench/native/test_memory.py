"""Where values of an update are in memory."""

import pytest
import torch

from lockstep_bench.bench.native.layouts import Layout
from lockstep_bench.bench.native.memory import Workspace
from lockstep_bench.bench.native.values import Compute, Nest, Value, View

SHAPE = (3, 3)


def number() -> Value:
    return Value(SHAPE, torch.float32, fixed=False, stored=True)


def copy_of(value: Value, view: View) -> Compute:
    return Compute(value, "{0}", (view,))


def offsets(nests: list[Nest], across: bool = True) -> list[str]:
    """Return the offset of each value, in the order in which they are computed."""
    declarations = Workspace(Layout(across, 16)).share(nests, {})
    return [line.split("workspace + ")[1] for line in declarations]


@pytest.fixture
def values():
    source, first, second = number(), number(), number()
    return first, second, Nest(SHAPE, [copy_of(first, View.of(source))])


def test_value_takes_the_place_of_one_that_is_read_last_at_the_same_number(values):
    first, second, computed = values
    before, after = offsets([computed, Nest(SHAPE, [copy_of(second, View.of(first))])])
    assert before == after


def test_one_replica_has_no_value_in_place_of_another(values):
    first, second, computed = values
    before, after = offsets([computed, Nest(SHAPE, [copy_of(second, View.of(first))])], across=False)
    assert before != after


def test_value_read_at_another_number_keeps_its_place(values):
    first, second, computed = values
    before, after = offsets([computed, Nest(SHAPE, [copy_of(second, View.of(first).transposed())])])
    assert before != after


def test_value_read_after_the_write_keeps_its_place(values):
    first, second, computed = values
    both = Nest(SHAPE, [copy_of(second, View.of(first)), copy_of(number(), View.of(first))])
    before, after, _ = offsets([computed, both])
    assert before != after


def test_value_read_by_a_later_nest_keeps_its_place(values):
    first, second, computed = values
    later = Nest(SHAPE, [copy_of(number(), View.of(first))])
    before, after, _ = offsets([computed, Nest(SHAPE, [copy_of(second, View.of(first))]), later])
    assert before != after
