"""MILE beside another implementation: both have the same model of the noise."""

from types import SimpleNamespace

import torch
from torch.distributions import Normal
from torch.nn.functional import softplus

from benchmarks.beside_bde import SoftplusNoise


def test_noise_sd_is_softplus_of_the_second_output():
    outputs = torch.tensor([[0.3, -4.0], [1.0, 0.0], [-2.0, 5.0]], dtype=torch.float64)
    y, one = torch.tensor([0.1, 2.0, -2.5], dtype=torch.float64), torch.ones(())
    density = Normal(outputs[:, 0], softplus(outputs[:, 1]) + 1e-6).log_prob(y)
    torch.testing.assert_close(SoftplusNoise().nll(outputs, y, SimpleNamespace(), one), -density)
