"""Noise has the moments that it should have."""

import numpy as np
import pytest

from lockstep_bench.datasets.images.shifts import SHIFTS
from lockstep_bench.datasets.images.shifts.noise import shot_noise

GREY = np.full((40, 3, 32, 32), 100, np.uint8)  # far enough from black and white that noise is not cut off
N = GREY.size


@pytest.mark.parametrize(("severity", "sd"), [(1, 0.04), (3, 0.08), (5, 0.10)])
def test_gaussian_noise_has_the_stated_standard_deviation(severity, sd):
    noise = SHIFTS["gaussian_noise"].apply(GREY, severity, 0).astype(float) - 100
    assert noise.mean() == pytest.approx(0, abs=4 * 255 * sd / N**0.5)
    assert noise.std() == pytest.approx(np.hypot(255 * sd, 12**-0.5), rel=4 / (2 * N) ** 0.5)  # rounding adds 1 / 12


@pytest.mark.parametrize("photons", [500, 50])
def test_shot_noise_variance_is_proportional_to_brightness(photons):
    for light in (0.2, 0.4):
        generators = [np.random.default_rng(row) for row in range(len(GREY))]
        shot = shot_noise(np.full(GREY.shape, light, np.float32), photons, generators)
        variance = light / photons
        assert shot.mean() == pytest.approx(light, abs=4 * (variance / N) ** 0.5)
        assert shot.var() == pytest.approx(variance, rel=4 * (2 / N) ** 0.5 + 1e-3)


def test_black_pixels_have_no_shot_noise():
    assert not SHIFTS["shot_noise"].apply(np.zeros_like(GREY), 5, 0).any()


@pytest.mark.parametrize(("severity", "sd"), [(1, 0.06), (5, 0.2)])
def test_speckle_noise_is_proportional_to_brightness(severity, sd):
    for light in (50, 100):
        noise = SHIFTS["speckle_noise"].apply(np.full_like(GREY, light), severity, 0).astype(float) - light
        assert noise.mean() == pytest.approx(0, abs=4 * light * sd / N**0.5)
        assert noise.std() == pytest.approx(np.hypot(light * sd, 12**-0.5), rel=4 / (2 * N) ** 0.5)


@pytest.mark.parametrize(("severity", "share"), [(1, 0.01), (5, 0.07)])
def test_impulse_noise_turns_a_share_black_or_white(severity, share):
    found = SHIFTS["impulse_noise"].apply(GREY, severity, 0)
    for value in (0, 255):
        assert (found == value).mean() == pytest.approx(share / 2, abs=4 * (share / 2 / N) ** 0.5)
    assert ((found == 0) | (found == 100) | (found == 255)).all()
