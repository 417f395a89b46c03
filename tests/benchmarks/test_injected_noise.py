"""Shares of the injected noise: in closed form on made-up averages, and finite on a kept row."""

import pytest
import torch

from benchmarks.injected_noise import Watched
from lockstep_bench.methods.maths.likelihoods import HeteroscedasticGaussian
from lockstep_bench.methods.mcmc.draws import Kept
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import HParams, Problem
from lockstep_bench.methods.sghmc import Scales, SGHMCState


def test_shares_are_in_closed_form():
    network = MLP(1, (1,), 2)
    lr, n_train = 0.1, 100.0
    problem = Problem(
        network,
        HeteroscedasticGaussian(),
        HParams(lr=torch.tensor(lr), prior_precision=torch.tensor(1.0)),
        torch.tensor(n_train),
        torch.tensor(0.0),
        torch.tensor(1.0),
    )
    roots = torch.full((network.dim,), 1.0)
    roots[0] = 0.05
    ones = torch.ones(network.dim)
    state = SGHMCState(ones, ones, Scales(ones, ones, roots.square()), Kept.init(ones, 2))
    without, left = Watched().finish(problem, state).tolist()
    # From 2 a h / (root N s), 0.0002 for the first weight and 0.00001 for the others, h^2 = 0.0001 is subtracted.
    assert problem.scale == 1
    assert without == pytest.approx((network.dim - 1) / network.dim)
    assert left == pytest.approx(0.5 / network.dim)
