"""Shares of the injected noise: in closed form, and those of the noise that an update of `sghmc` injects."""

import pytest
import torch

from benchmarks.injected_noise import Watched
from lockstep_bench.methods.api import Batch, Noise, Step
from lockstep_bench.methods.maths.likelihoods import HeteroscedasticGaussian
from lockstep_bench.methods.mcmc.draws import Kept
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import HParams, Problem
from lockstep_bench.methods.sghmc import Scales, SGHMCState

NETWORK = MLP(1, (1,), 2)


def problem() -> Problem:
    hparams = HParams(lr=torch.tensor(0.1), prior_precision=torch.tensor(1.0))
    n_train, mean, scale = map(torch.tensor, (100.0, 0.0, 1.0))
    return Problem(NETWORK, HeteroscedasticGaussian(), hparams, n_train, mean, scale)


def state(roots: torch.Tensor) -> SGHMCState:
    """Return a state whose gradients have these root mean squares."""
    ones = torch.ones_like(roots)
    return SGHMCState(ones, ones, Scales(ones, ones, roots.square()), Kept.init(ones, 2))


def test_shares_are_in_closed_form():
    roots = torch.ones(NETWORK.dim)
    roots[0] = 0.05
    without, left = Watched().finish(problem(), state(roots)).tolist()
    # From 2 a h / (root N s), 0.0002 for the first weight and 0.00001 for the others, h^2 = 0.0001 is subtracted.
    assert without == pytest.approx((NETWORK.dim - 1) / NETWORK.dim)
    assert left == pytest.approx(0.5 / NETWORK.dim)


def test_shares_are_those_of_the_noise_in_an_update():
    method, roots = Watched(), torch.logspace(-3, 1, NETWORK.dim)
    batch = Batch(torch.zeros(1, 1), torch.ones(1), None)
    with_ones, with_zeros = (
        method.update(problem(), state(roots), batch, Noise(numbers), Step(torch.tensor(9.0), "move"))[0].velocity
        for numbers in (torch.ones(NETWORK.dim), torch.zeros(NETWORK.dim))
    )
    variance = (with_ones - with_zeros).square()
    without, left = method.finish(problem(), state(roots)).tolist()
    assert 0 < without < 1
    assert without == pytest.approx((variance < 1e-10).float().mean().item())
    assert left == pytest.approx((variance / (2 * 0.05 * 0.01 / (roots * 100))).mean().item(), rel=1e-3)
