"""Weather and light against counts by hand and the standard library's colours."""

import colorsys

import numpy as np
import pytest

from lockstep_bench.datasets.images.shifts import SHIFTS
from lockstep_bench.datasets.images.shifts.weather import plasma

COLOURS = np.array([[10, 20, 40], [255, 0, 0], [128, 128, 128], [0, 0, 0], [250, 240, 3]], np.uint8)


def test_brightness_changes_hsv_value_only():
    image = COLOURS.T.reshape(1, 3, 1, 5)
    found = SHIFTS["brightness"].apply(image, 5, 0)[0, :, 0].T
    for before, after in zip(COLOURS / 255, found, strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        expected = 255 * np.array(colorsys.hsv_to_rgb(hue, saturation, min(value + 0.3, 1)))
        np.testing.assert_allclose(after, expected, atol=0.51)


def test_brightness_adds_a_constant_to_grey_images():
    image = np.array([0, 100, 200, 255], np.uint8).reshape(1, 1, 2, 2)
    assert SHIFTS["brightness"].apply(image, 4, 0).ravel().tolist() == [51, 151, 251, 255]


def test_plasma_fractal_equals_hand_computation():
    """Middle a = w11; sides (0 + 0 + a + a) / 4 + w, where the torus shows each neighbour twice; then 0 to 1."""
    wobble = np.array([[[9.0, 0.2], [-0.4, 0.6]]])
    heights = np.array([[0, 0.3 + 0.2], [0.3 - 0.4, 0.6]])
    np.testing.assert_allclose(plasma(wobble, 3)[0], (heights + 0.1) / 0.7, atol=1e-12)


def test_plasma_variance_falls_by_squared_decay_per_level():
    """On a grid of size 4 whose middle wobbles by a, sides get a / 2, and quarters' middles (a + 2 a / 2) / 4."""
    wobble = np.zeros((1, 4, 4))
    wobble[0, 2, 2] = 1.0
    heights = plasma(wobble, 3)[0]
    assert heights[2, 2] == 1
    assert heights[0, 0] == 0
    np.testing.assert_allclose(heights[[0, 2], [2, 0]], 0.5)
    np.testing.assert_allclose(heights[1::2, 1::2], 0.5)
    wobble[0, 1, 1] = 0.9  # of the second round, divided by 3^2
    assert plasma(wobble, 3)[0, 1, 1] == pytest.approx(0.5 + 0.1)


def test_fog_on_a_constant_image_is_the_plasma():
    """x = 1/5 everywhere, density 0.2: (1/5 + 0.2 f) (1/5) / (2/5) = 0.1 + 0.1 f with f from 0 to 1."""
    found = SHIFTS["fog"].apply(np.full((4, 3, 32, 32), 51, np.uint8), 1, 0)
    np.testing.assert_allclose(found.min((1, 2, 3)), 25.5, atol=0.51)
    np.testing.assert_allclose(found.max((1, 2, 3)), 51, atol=0.51)
    np.testing.assert_array_equal(found[:, 0], found[:, 2])


def test_fog_leaves_black_images_black():
    assert not SHIFTS["fog"].apply(np.zeros((1, 1, 28, 28), np.uint8), 5, 0).any()


def test_snow_lightens_and_is_symmetric_under_half_turn():
    """Black is paled to (1 - 0.8) 0.5 = 25.5 grey levels at severity 5; flakes are symmetric under half a turn."""
    found = SHIFTS["snow"].apply(np.zeros((3, 3, 32, 32), np.uint8), 5, 0)
    assert found.min() in (25, 26)
    np.testing.assert_array_equal(found, found[:, :, ::-1, ::-1])
    assert (found > 60).mean() > 0.05


def test_snow_lightens_colours_towards_grey():
    """Pure green at severity 1, between flakes: 0.95 x + 0.05 max(x, 1.5 * 0.587 + 0.5), which is above 1."""
    green = np.zeros((1, 3, 32, 32), np.uint8)
    green[:, 1] = 255
    red = SHIFTS["snow"].apply(green, 1, 0)[0, 0]
    assert red.min() == round(255 * 0.05 * (1.5 * 0.587 + 0.5))


@pytest.mark.parametrize(("severity", "factor", "more"), [(2, 0.1, 0.0), (4, 2.0, 0.1)])
def test_saturate_changes_only_hsv_saturation(severity, factor, more):
    image = COLOURS.T.reshape(1, 3, 1, 5)
    changed = SHIFTS["saturate"].apply(image, severity, 0)[0, :, 0].T
    for before, after in zip(COLOURS / 255, changed, strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        expected = 255 * np.array(colorsys.hsv_to_rgb(hue, min(factor * saturation + more, 1), value))
        np.testing.assert_allclose(after, expected, atol=0.51)
