"""Normalisations against torch.nn and explicit formulas."""

import pytest
import torch

from lockstep_bench.methods.maths.noise import Noise, NoiseGauge
from lockstep_bench.methods.networks.normalisation import Scale, Threshold, by_batch, by_filter_response, by_group


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


X = 3 * numbers(7, 6, 4, 5) + 2


def test_batch_norm_equals_torch_in_training():
    torch.testing.assert_close(by_batch(X), torch.nn.BatchNorm2d(6, affine=False, dtype=torch.float64)(X))


def test_batch_norm_reference_rows_act_as_running_statistics():
    module = torch.nn.BatchNorm2d(6, affine=False, dtype=torch.float64).eval()
    module.running_mean = X[:3].mean((0, 2, 3))
    module.running_var = X[:3].transpose(0, 1).flatten(1).var(1, correction=0)
    torch.testing.assert_close(by_batch(X, n_reference=3), module(X))


def test_batch_norm_with_all_reference_rows_equals_training():
    torch.testing.assert_close(by_batch(X, n_reference=len(X)), by_batch(X))


@pytest.mark.parametrize(("channels", "groups"), [(32, 2), (16, 1), (8, 1), (24, 3), (5, 5)])
def test_group_norm_equals_torch(channels, groups):
    x = 3 * numbers(2, channels, 3, 3) + 2
    torch.testing.assert_close(by_group(x), torch.nn.GroupNorm(groups, channels, affine=False)(x))


def test_filter_response_norm_divides_by_root_mean_square():
    rms = torch.stack([torch.stack([channel.square().mean().sqrt() for channel in row]) for row in X])
    torch.testing.assert_close(by_filter_response(X), X / rms[:, :, None, None], rtol=1e-6, atol=0)


def test_scale_layer_equals_affine_part_of_batch_norm():
    module, layer = torch.nn.BatchNorm2d(6, dtype=torch.float64), Scale(6)
    assert layer.sizes == [6, 6]
    module.weight.data, module.bias.data = numbers(6, seed=1), numbers(6, seed=2)
    found = layer((module.weight.data, module.bias.data), by_batch(X))
    torch.testing.assert_close(found, module(X).detach())


def test_threshold_layer_is_maximum_or_smooth_maximum():
    tau = numbers(6, seed=1)
    found = Threshold(6, torch.relu)((tau,), X)
    torch.testing.assert_close(found, torch.maximum(X, tau[:, None, None]))
    smooth = Threshold(6, torch.nn.functional.softplus)((tau,), X)
    torch.testing.assert_close(smooth, torch.logaddexp(X, tau[:, None, None]))


def test_initial_normalisation_layers_are_the_identity_and_draw_no_random_numbers():
    gauge = NoiseGauge(torch.float64)
    assert Scale(2).initial(gauge).tolist() == [1, 1, 0, 0]
    assert Threshold(2, torch.relu).initial(Noise(torch.zeros(0))).tolist() == [0, 0]
    assert gauge.used == 0
