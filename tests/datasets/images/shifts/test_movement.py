"""Turns by right angles and steps are exact."""

import numpy as np
import pytest

from lockstep_bench.datasets.images.shifts import SHIFTS


@pytest.mark.parametrize("shape", [(2, 1, 28, 28), (2, 3, 15, 15)])
def test_right_angle_rotations_are_exact_and_anticlockwise(pictures, shape):
    images = pictures(*shape)
    for degrees in (90, 180):
        expected = np.rot90(images, degrees // 90, axes=(2, 3))
        np.testing.assert_array_equal(SHIFTS["rotation"].apply(images, degrees, 0), expected)


def test_rotation_turns_about_the_image_centre():
    y, x = np.mgrid[-13.5:14, -13.5:14]
    spot, aside = (
        (255 * np.exp(-((x - at[0]) ** 2 + (y + at[1]) ** 2) / 20)).round().astype(np.uint8)[None, None]
        for at in ((0, 0), (5, 0))
    )
    assert np.abs(SHIFTS["rotation"].apply(spot, 45, 0).astype(int) - spot).max() <= 6  # linear interpolation's error
    turned = (255 * np.exp(-((x - 2.5) ** 2 + (y + 18.75**0.5) ** 2) / 20)).round()  # 5 pixels at 60 degrees
    assert np.abs(SHIFTS["rotation"].apply(aside, 60, 0) - turned).max() <= 6


def test_rotation_fills_with_black_from_outside():
    turned = SHIFTS["rotation"].apply(np.full((1, 1, 28, 28), 255, np.uint8), 45, 0)[0, 0]
    assert turned[[0, 0, -1, -1], [0, -1, 0, -1]].tolist() == [0, 0, 0, 0]


def test_translation_wraps_around_to_the_other_side():
    image = np.arange(8, dtype=np.uint8).reshape(1, 1, 1, 8)
    assert SHIFTS["translation"].apply(image, 2, 0).ravel().tolist() == [6, 7, 0, 1, 2, 3, 4, 5]
