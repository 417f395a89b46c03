"""Initial weights of training."""

from dataclasses import replace

import pytest
import torch
from torch.func import vmap

from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP


def test_pretrained_weights_initialise_all_but_last_layer(problem):
    body = torch.arange(16.0, dtype=torch.float64)  # 3 inputs and a bias, to 4 units
    tapes = torch.randn(3, problem.dim, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    given = replace(problem, start=body)
    found = vmap(lambda tape: given.initial_weights(Noise(tape)))(tapes)
    assert torch.equal(found[:, :16], body.expand(3, 16))
    own = torch.stack([problem.initial_weights(Noise(tape)) for tape in tapes])
    assert torch.equal(found[:, 16:], own[:, 16:])


def test_pretrained_weights_load_for_any_output_number(problem):
    two_headed = replace(problem, network=MLP(3, (4,), n_outputs=2), start=torch.ones(16, dtype=torch.float64))
    found = two_headed.initial_weights(Noise(torch.zeros(two_headed.dim, dtype=torch.float64)))
    assert found.tolist() == [1.0] * 16 + [0.0] * 10


def test_pretrained_weights_of_another_network_are_refused(problem):
    other = replace(problem, network=MLP(3, (5,)), start=torch.ones(16, dtype=torch.float64))
    with pytest.raises(ValueError, match="got 16 pretrained weights; the MLP needs 20, those before its last layer"):
        other.initial_weights(Noise(torch.zeros(other.dim, dtype=torch.float64)))
