"""Operations and bytes of an update, beside those counted by hand."""

import pytest
import torch

from lockstep_bench.bench.engine.graph_capture import trace, values_of
from lockstep_bench.bench.native.arithmetic import Work
from lockstep_bench.bench.native.loop import ExampleInputs, UpdateLoops


def work(update, *state):
    """Return the work of an update that maps the state's leaves to the next ones."""
    streams = ExampleInputs(
        x=torch.zeros(1, 1, dtype=torch.float64),
        y=torch.zeros(1, dtype=torch.float64),
        index=torch.zeros(1, 1, dtype=torch.int64),
        noise=torch.zeros(0),
        count=torch.ones(()),
    )
    examples = [*streams.tensors(), *state]
    graph = trace(lambda *leaves: update(*leaves[5:]), examples)
    return UpdateLoops(graph, values_of(graph, examples), [], streams, list(state)).work


@pytest.mark.parametrize(
    ("update", "shapes", "operations", "numbers"),
    [
        (lambda a, b: [a * b + a, b], [(3, 5), (3, 5)], 2 * 15, 3 * 15),  # reads both, writes one
        (lambda a, b: [a + b, b], [(3, 5), (5,)], 15, 2 * 15 + 5),  # a row that is added to all rows
        (lambda a: [(a.exp().sum() * a)], [(7,)], 7 + 7 + 7, None),  # exponentials, sum, products
        (lambda a, b: [a @ b, b], [(4, 6), (6, 6)], 2 * 4 * 6 * 6, 24 + 36 + 24),
        (lambda a: [torch.linalg.cholesky(a)], [(6, 6)], 6**3 // 3, None),
    ],
    ids=["elementwise", "broadcast", "sum", "product", "cholesky"],
)
def test_operations_and_bytes_are_those_counted_by_hand(update, shapes, operations, numbers):
    found = work(update, *(torch.eye(*shape) if shape == (6, 6) else torch.ones(shape) for shape in shapes))
    assert found == Work(operations, found.moved if numbers is None else 4 * numbers)
