"""Code vectorised over replicas gives the numbers of a loop over them."""

from typing import NamedTuple

import pytest
import torch
from torch.func import vmap

from lockstep_bench.bench.engine.vectorise import PerReplica, one_by_one, replica_of


class State(NamedTuple):
    mean: torch.Tensor  # (D,)
    moments: dict[str, torch.Tensor]


def step(table, state, hparams):
    """table (N, D); returns a state and a scalar."""
    fitted = table @ state.mean
    mean = state.mean - hparams["lr"] * table.T @ fitted
    moments = {"first": mean * 2, "second": mean.square().sum() + state.moments["second"]}
    return State(mean, moments), fitted.sum()


@pytest.mark.parametrize("vectorise", [vmap, one_by_one])
@pytest.mark.parametrize("n_replicas", [1, 2, 5])
def test_vectorised_function_equals_explicit_einsum(vectorise, n_replicas):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(n_replicas, *shape, generator=generator, dtype=torch.float64)

    table, hparams = normal(4, 3), {"lr": normal()}
    state = State(normal(3), {"first": normal(3), "second": normal()})
    result, total = vectorise(step)(table, state, hparams)
    fitted = torch.einsum("bnd,bd->bn", table, state.mean)
    mean = state.mean - hparams["lr"][:, None] * torch.einsum("bnd,bn->bd", table, fitted)
    assert isinstance(result, State)
    torch.testing.assert_close(result.mean, mean)
    torch.testing.assert_close(result.moments["first"], 2 * mean)
    torch.testing.assert_close(result.moments["second"], (mean**2).sum(1) + state.moments["second"])
    torch.testing.assert_close(total, fitted.sum(1))


def test_unvectorised_function_may_branch_on_tensor_values():
    """Branch on a value, as a wrapper of another library may and a function under `vmap` may not."""

    def function(x):
        return x * 2 if x.item() > 0 else x * 0

    assert one_by_one(function)(torch.tensor([-1.0, 3.0])).tolist() == [0, 6]


def test_replica_can_be_taken_from_non_tensor_states():
    assert replica_of(torch.tensor([[1.0, 2], [3, 4]])).tolist() == [1, 2]
    assert replica_of(torch.tensor([[1.0, 2], [3, 4]]), 1).tolist() == [3, 4]
    objects = PerReplica(["a", "b", "c"])
    assert replica_of(objects, 1) == "b"
    assert replica_of(objects[1:], 1) == "c"


def test_objects_in_a_state_are_passed_per_replica():
    first = one_by_one(lambda x: {"seen": [x.item()]})(torch.tensor([1.0, 2.0]))
    second = one_by_one(lambda state, x: state["seen"][0] + x)(first, torch.tensor([10.0, 20.0]))
    assert second.tolist() == [11, 22]
