"""The same code for all rows at once or for one at a time gives the same numbers."""

from typing import NamedTuple

import pytest
import torch

from bench.engine.vectorise import PerRow, lockstep, one_by_one, row_of


class State(NamedTuple):
    mean: torch.Tensor  # (D,)
    moments: dict[str, torch.Tensor]


def step(table, state, hparams):
    """table (N, D) is shared; returns a state and a scalar."""
    fitted = table @ state.mean
    mean = state.mean - hparams["lr"] * table.T @ fitted
    moments = {"first": mean * 2, "second": mean.square().sum() + state.moments["second"]}
    return State(mean, moments), fitted.sum()


def example(n_rows: int):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    state = State(normal(n_rows, 3), {"first": normal(n_rows, 3), "second": normal(n_rows)})
    return normal(4, 3), state, {"lr": normal(n_rows)}


@pytest.mark.parametrize("lift", [lockstep, one_by_one])
@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_a_lifted_function_is_the_function_of_every_row(lift, n_rows):
    table, state, hparams = example(n_rows)
    found, total = lift(step, (True, False, False))(table, state, hparams)
    fitted = torch.einsum("nd,bd->bn", table, state.mean)
    mean = state.mean - hparams["lr"][:, None] * torch.einsum("nd,bn->bd", table, fitted)
    assert isinstance(found, State)
    torch.testing.assert_close(found.mean, mean)
    torch.testing.assert_close(found.moments["first"], 2 * mean)
    torch.testing.assert_close(found.moments["second"], (mean**2).sum(1) + state.moments["second"])
    torch.testing.assert_close(total, fitted.sum(1))


@pytest.mark.parametrize("lift", [lockstep, one_by_one])
def test_any_argument_may_be_the_shared_one(lift):
    rows, shared = torch.arange(6.0).view(3, 2), torch.tensor([10.0, 20.0])
    for order in ((True, False), (False, True)):
        arguments = (shared, rows) if order[0] else (rows, shared)
        assert torch.equal(lift(lambda a, b: a + b, order)(*arguments), rows + shared)


@pytest.mark.parametrize("lift", [lockstep, one_by_one])
def test_shared_and_own_arguments_of_the_same_length_are_not_confused(lift):
    """Three rows and a shared vector of three: the outer sum, not the inner one."""
    shared, own = torch.tensor([1.0, 2, 3]), torch.tensor([1.0, 10, 100])
    found = lift(lambda shared, own: shared * own, (True, False))(shared, own)
    assert found.tolist() == [[1, 2, 3], [10, 20, 30], [100, 200, 300]]


def test_one_by_one_runs_code_that_looks_at_values():
    """What a wrapper round a foreign library may do, and a transform could not."""

    def function(x):
        return x * 2 if x.item() > 0 else x * 0

    assert one_by_one(function, (False,))(torch.tensor([-1.0, 3.0])).tolist() == [0, 6]


def test_a_row_of_a_leaf_that_is_no_tensor():
    assert row_of(torch.tensor([[1.0, 2], [3, 4]])).tolist() == [1, 2]
    assert row_of(torch.tensor([[1.0, 2], [3, 4]]), 1).tolist() == [3, 4]
    objects = PerRow(["a", "b", "c"])
    assert row_of(objects, 1) == "b"
    assert row_of(objects[1:], 1) == "c"


def test_objects_go_through_a_lifted_function_row_by_row():
    first = one_by_one(lambda x: {"seen": [x.item()]}, (False,))(torch.tensor([1.0, 2.0]))
    second = one_by_one(lambda state, x: state["seen"][0] + x, (False, False))(first, torch.tensor([10.0, 20.0]))
    assert second.tolist() == [11, 22]
