"""Changes of a state's structure, shapes and types are named by their places."""

import re
from typing import NamedTuple

import pytest
import torch

from lockstep_bench.bench.engine.signatures import require_equal, signature


class State(NamedTuple):
    weights: torch.Tensor
    optim: dict


STATE = State(torch.zeros(3), {"mean": torch.zeros(3)})


def test_state_signature_names_each_tensor_by_its_path():
    wanted = {".weights": "torch.float32 (3,)", ".optim['mean']": "torch.float32 (3,)"}
    assert signature(STATE) == wanted
    require_equal("mine", STATE, State(torch.ones(3), {"mean": torch.ones(3)}))


@pytest.mark.parametrize(
    ("after", "change"),
    [
        (STATE._replace(weights=torch.zeros(2)), "state.weights was torch.float32 (3,) and is torch.float32 (2,)"),
        (STATE._replace(weights=torch.zeros(3).double()), "and is torch.float64 (3,)"),
        (STATE._replace(weights=0.5), "state.weights was torch.float32 (3,) and is no tensor"),
        (STATE._replace(optim={}), "state.optim['mean'] was torch.float32 (3,) and is missing"),
    ],
)
def test_changed_state_structure_raises_and_names_the_path(after, change):
    with pytest.raises(TypeError, match=re.escape(change)):
        require_equal("mine", STATE, after)
