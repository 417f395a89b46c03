"""Blurs of a single bright pixel, of edges and of straight lines, whose images are known."""

import numpy as np
import pytest
from scipy.ndimage import zoom

from lockstep_bench.datasets.images.shifts import SHIFTS
from lockstep_bench.datasets.images.shifts.blur import smeared, zoomed


def point(size: int = 15, value: float = 255) -> np.ndarray:
    image = np.zeros((1, 1, size, size), np.uint8 if value == 255 else np.float32)
    image[0, 0, size // 2, size // 2] = value
    return image


@pytest.mark.parametrize("name", ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur"])
def test_blurs_do_not_change_a_constant_image(name):
    even = np.full((2, 3, 32, 32), 77, np.uint8)
    for severity in SHIFTS[name].severities:
        np.testing.assert_array_equal(SHIFTS[name].apply(even, severity, 0), even)


def test_small_defocus_kernel_is_a_smoothed_disk():
    """Radius 0.5 holds one pixel; the Gaussian of sd 0.6 has the weights 1 and w = exp(-1 / 0.72) along an axis."""
    w = np.exp(-1 / 0.72)
    line = np.array([w, 1, w]) / (1 + 2 * w)
    found = SHIFTS["defocus_blur"].apply(point(), 3, 0)[0, 0, 6:9, 6:9]
    np.testing.assert_allclose(found, 255 * np.outer(line, line), atol=0.51)


def test_disk_kernel_of_radius_1_5_has_nine_pixels():
    """The disk's edge is blurred with a standard deviation of 0.1 pixels, so exp(-50) leaks into the next pixel."""
    found = SHIFTS["defocus_blur"].apply(point(), 5, 0)
    np.testing.assert_array_equal(found[0, 0, 6:9, 6:9], np.full((3, 3), round(255 / 9)))
    assert found.sum() == 9 * 28


def test_glass_blur_takes_pixels_from_above_and_left():
    """Every pixel has a colour of its own; without blur each found one is among its four candidates, equally often."""
    images = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16).repeat(500, 0)
    found = SHIFTS["glass_blur"].apply(images, 1, 0)[:, 0]
    np.testing.assert_array_equal(found[:, :2], images[:, 0, :2])
    np.testing.assert_array_equal(found[:, :, :2], images[:, 0, :, :2])
    steps = images[:, 0, 2:, 2:] - found[:, 2:, 2:]
    for step in (0, 1, 16, 17):
        assert (steps == step).mean() == pytest.approx(0.25, abs=4 * (3 / 16 / steps.size) ** 0.5)


@pytest.mark.parametrize(("angle", "step"), [(0, (0, -1)), (90, (-1, 0)), (45, (-1, -1)), (-90, (1, 0))])
def test_motion_blur_smears_a_point_into_half_gaussian(angle, step):
    """sum_i w_i x(p + i d): light from the middle reaches p = middle - i d."""
    found = smeared(point(15, 1.0), 3, 1.5, np.array([angle]))[0, 0]
    weights = np.exp(-(np.arange(7) ** 2) / 4.5)
    i_over_root_2 = [0, 1, 1, 2, 3, 4, 4]  # rounded: the rows that i pixels along a diagonal are
    places = np.array(i_over_root_2) if angle == 45 else np.arange(7)
    expected = np.zeros((15, 15))
    np.add.at(expected, (7 + step[0] * places, 7 + step[1] * places), weights / weights.sum())
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_motion_blur_pads_with_the_nearest_pixel():
    ramp = np.arange(10, dtype=np.float32).reshape(1, 1, 1, 10).repeat(3, 2)
    found = smeared(ramp, 1, 1.0, np.zeros(1))
    weights = np.exp(-np.array([0, 1, 4]) / 2)
    weights /= weights.sum()
    assert found[0, 0, 1, 8] == pytest.approx(8 * weights[0] + 9 * weights[1:].sum())
    assert found[0, 0, 1, 9] == pytest.approx(9)


@pytest.mark.parametrize("factor", [1.0, 1.05, 1.25, 2.25])
def test_zoom_equals_scipys_zoom_of_the_centre(factor):
    image = np.random.default_rng(0).uniform(size=(28, 32))
    kept = [-(-size // factor) for size in image.shape]
    start = [int((size - part) // 2) for size, part in zip(image.shape, kept, strict=True)]
    middle = image[start[0] : start[0] + int(kept[0]), start[1] : start[1] + int(kept[1])]
    grown = zoom(middle, factor, order=1)
    cut = [(large - size) // 2 for large, size in zip(grown.shape, image.shape, strict=True)]
    expected = grown[cut[0] : cut[0] + 28, cut[1] : cut[1] + 32]
    np.testing.assert_allclose(zoomed(image, factor), expected, rtol=1e-12)


def test_zoom_blur_is_the_mean_of_zooms():
    images = np.random.default_rng(1).integers(0, 256, (1, 1, 28, 28)).astype(float)
    expected = (2 * images + sum(zoomed(images, 1 + step / 100) for step in range(1, 7))) / 8
    np.testing.assert_allclose(SHIFTS["zoom_blur"].apply(images.astype(np.uint8), 1, 0), expected, atol=0.51)


def test_gaussian_blur_of_an_impulse_is_the_kernel():
    images = np.zeros((1, 1, 15, 15), np.uint8)
    images[..., 7, 7] = 255
    line = np.exp(-(np.arange(-4, 5) ** 2) / 2)
    kernel = np.outer(line, line) / line.sum() ** 2
    np.testing.assert_allclose(SHIFTS["gaussian_blur"].apply(images, 5, 0)[0, 0, 3:12, 3:12], 255 * kernel, atol=0.51)
