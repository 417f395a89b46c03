"""Normalisations against torch.nn and written formulas."""

import pytest
import torch

from methods.maths.noise import Noise, NoiseGauge
from methods.networks.normalisation import Scale, Threshold, by_batch, by_filter_response, by_group


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


X = 3 * numbers(7, 6, 4, 5) + 2


def test_a_batch_is_normalised_as_by_torch_nn_in_training():
    torch.testing.assert_close(by_batch(X), torch.nn.BatchNorm2d(6, affine=False, dtype=torch.float64)(X))


def test_reference_rows_normalise_all_as_running_statistics_would():
    module = torch.nn.BatchNorm2d(6, affine=False, dtype=torch.float64).eval()
    module.running_mean = X[:3].mean((0, 2, 3))
    module.running_var = X[:3].transpose(0, 1).flatten(1).var(1, correction=0)
    torch.testing.assert_close(by_batch(X, n_reference=3), module(X))


def test_with_all_rows_for_reference_a_batch_is_normalised_as_in_training():
    torch.testing.assert_close(by_batch(X, n_reference=len(X)), by_batch(X))


@pytest.mark.parametrize(("channels", "groups"), [(32, 2), (16, 1), (8, 1), (24, 3), (5, 5)])
def test_groups_are_normalised_as_by_torch_nn(channels, groups):
    x = 3 * numbers(2, channels, 3, 3) + 2
    torch.testing.assert_close(by_group(x), torch.nn.GroupNorm(groups, channels, affine=False)(x))


def test_the_filter_response_is_the_root_mean_square_of_a_rows_channel():
    rms = torch.stack([torch.stack([channel.square().mean().sqrt() for channel in row]) for row in X])
    torch.testing.assert_close(by_filter_response(X), X / rms[:, :, None, None], rtol=1e-6, atol=0)


def test_scale_and_shift_are_those_of_torch_nn_and_linear_in_the_weights():
    module, layer = torch.nn.BatchNorm2d(6, dtype=torch.float64), Scale(6)
    assert layer.sizes == [6, 6]
    module.weight.data, module.bias.data = numbers(6, seed=1), numbers(6, seed=2)
    found = layer((module.weight.data, module.bias.data), by_batch(X))
    torch.testing.assert_close(found, module(X).detach())


def test_the_threshold_is_a_maximum_and_a_smooth_one_for_softplus():
    tau = numbers(6, seed=1)
    found = Threshold(6, torch.relu)((tau,), X)
    torch.testing.assert_close(found, torch.maximum(X, tau[:, None, None]))
    smooth = Threshold(6, torch.nn.functional.softplus)((tau,), X)
    torch.testing.assert_close(smooth, torch.logaddexp(X, tau[:, None, None]))


def test_they_start_from_doing_nothing_and_take_no_noise():
    gauge = NoiseGauge(torch.float64)
    assert Scale(2).initial(gauge).tolist() == [1, 1, 0, 0]
    assert Threshold(2, torch.relu).initial(Noise(torch.zeros(0))).tolist() == [0, 0]
    assert gauge.used == 0
