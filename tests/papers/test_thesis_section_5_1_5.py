"""Section 5.1.5 of Brownlie's thesis: the updates of VIFA and SLANG, one beside the other."""

import torch

from lockstep_bench.methods.maths.gaussian import LowRankPrecision
from lockstep_bench.methods.maths.likelihoods import Gaussian
from lockstep_bench.methods.maths.noise import Noise
from lockstep_bench.methods.networks.mlp import MLP
from lockstep_bench.methods.problem import Batch, HParams, Problem, Step
from lockstep_bench.methods.slang import SLANG, SLANGState
from lockstep_bench.methods.training.optim import SGD
from lockstep_bench.methods.vifa import VIFA, VIFAState


def number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_slang_mean_step_is_vifas_times_covariance():  # equation 5.33, L = 1
    hparams = HParams(lr=number(0.01), prior_precision=number(0.7), noise_precision=number(0.02))
    problem = Problem(MLP(3, hidden=(4,)), Gaussian((0.01, 1.0)), hparams, number(12), number(2), number(3))
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((1, 5, 3), (1, 5)))
    mean, spread = 0.3 * torch.randn(2, problem.dim, generator=generator, dtype=torch.float64)
    at_the_mean = Noise(torch.zeros(1 + problem.dim, dtype=torch.float64))  # h = 0 and z = 0, so that theta = c = mu
    first = Step(number(1), None)

    vifa = VIFAState(torch.stack([mean, spread, spread]), SGD())
    after, _ = VIFA(1, 1, "sgd").update(problem, vifa, Batch(x, y), at_the_mean, first)
    step_of_vifa = (after.params[0] - mean) / hparams.lr
    assert step_of_vifa.norm() < 10  # not clipped

    posterior = LowRankPrecision(mean, spread[None], spread.exp())
    slang = SLANGState(posterior, torch.zeros_like(mean))
    found, _ = SLANG(1, mc_samples=1).update(
        problem, slang, Batch(x, y), Noise(torch.zeros(1 + problem.dim, dtype=torch.float64)), first
    )
    step_of_slang = (found.posterior.mean - mean) / hparams.lr
    covariance = torch.linalg.inv(found.posterior.precision())
    torch.testing.assert_close(step_of_slang, covariance @ step_of_vifa)
