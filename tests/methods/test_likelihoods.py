"""The Gaussian likelihood in original units, whatever units training uses."""

from types import SimpleNamespace

import pytest
import torch

from methods.likelihoods import Gaussian


@pytest.fixture
def setting():
    hparams = SimpleNamespace(noise_precision=torch.tensor(0.25, dtype=torch.float64))
    y_mean, y_scale = torch.tensor([7.0, 3.0], dtype=torch.float64)
    return Gaussian((0.01, 1.0)), hparams, y_mean, y_scale


def test_nll_on_standardised_targets_is_that_of_original_targets_less_the_log_scale(setting):
    likelihood, hparams, y_mean, y_scale = setting
    outputs, y = torch.randn(2, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    nll = likelihood.nll(outputs[:, None], y, hparams, y_scale)
    original = torch.distributions.Normal(y_mean + y_scale * outputs, hparams.noise_precision**-0.5)
    torch.testing.assert_close(nll, -original.log_prob(y_mean + y_scale * y) - y_scale.log())


def test_predictive_is_in_original_units(setting):
    likelihood, hparams, y_mean, y_scale = setting
    predictive = likelihood.predictive(torch.ones(2, 5, 1, dtype=torch.float64), hparams, y_mean, y_scale)
    assert predictive.mean.shape == predictive.variance.shape == (2, 5)
    assert predictive.mean.unique().item() == 10
    assert predictive.variance.unique().item() == 4
