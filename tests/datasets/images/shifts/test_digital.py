"""Contrast and pixels by hand, warps against scipy, JPEG against what a file holds."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from lockstep_bench.datasets.images.shifts import SHIFTS
from lockstep_bench.datasets.images.shifts.digital import elastic_transform


def test_contrast_shift_shrinks_pixels_towards_channel_means():
    image = np.array([[0, 100, 200, 100], [50, 50, 50, 90]], np.uint8).reshape(1, 2, 2, 2)
    found = SHIFTS["contrast"].apply(image, 2, 0).reshape(2, 4)
    assert found.tolist() == [[50, 100, 150, 100], [55, 55, 55, 75]]


def test_pixelate_averages_over_boxes():
    """Four pixels to int(4 * 0.65) = 2: boxes of two by two."""
    image = np.arange(0, 160, 10, dtype=np.uint8).reshape(1, 1, 4, 4)
    boxes = [[25, 25, 45, 45], [25, 25, 45, 45], [105, 105, 125, 125], [105, 105, 125, 125]]
    assert SHIFTS["pixelate"].apply(image, 5, 0)[0, 0].tolist() == boxes
    colour = np.concatenate([image, image, image + 1], 1)
    assert (SHIFTS["pixelate"].apply(colour, 5, 0)[0] - boxes).max((1, 2)).tolist() == [0, 0, 1]


def test_jpeg_shift_equals_a_decoded_jpeg_file(pictures):
    for channels, mode in ((1, "L"), (3, "RGB")):
        image = pictures(1, channels, 28, 32)
        file = BytesIO()
        Image.fromarray(image[0].transpose(1, 2, 0).squeeze(), mode).save(file, "JPEG", quality=40)
        expected = np.asarray(Image.open(file)).reshape(28, 32, channels).transpose(2, 0, 1)
        np.testing.assert_array_equal(SHIFTS["jpeg_compression"].apply(image, 5, 0)[0], expected)


class JobProgress:
    """A generator whose numbers are known."""

    def __init__(self, *numbers: np.ndarray):
        self.numbers = list(numbers)

    def uniform(self, low: float, high: float, shape) -> np.ndarray:
        assert (low, high, self.numbers[0].shape) == (-1, 1, shape)
        return self.numbers.pop(0)


STILL = np.zeros((3, 2)), np.zeros((2, 20, 24))


def test_elastic_warp_without_displacement_keeps_the_image(pictures):
    images = pictures(1, 3, 20, 24) / np.float32(255)
    np.testing.assert_allclose(elastic_transform(images, (0.1, 0.05, 0.1), [JobProgress(*STILL)]), images, atol=1e-6)


def test_elastic_warp_with_equal_displacements_translates_the_image(pictures):
    """The image moves 0.1 * 20 = 2 rows down and 1 column left; the mirror image about the edge fills the gap."""
    images = pictures(1, 1, 20, 24) / np.float32(255)
    moves = np.tile([1.0, -0.5], (3, 1))
    found = elastic_transform(images, (0, 0.05, 0.1), [JobProgress(moves, STILL[1])])[0, 0]
    np.testing.assert_allclose(found[2:, :-1], images[0, 0, :-2, 1:], atol=1e-6)
    np.testing.assert_allclose(found[1, :-1], images[0, 0, 1, 1:], atol=1e-6)


def test_elastic_warp_moves_a_displaced_pixel():
    """The lower right of the three points, (16, 16) of a side of 20, moves by (1, -2); the others stay."""
    image = np.zeros((1, 1, 20, 20), np.float32)
    image[0, 0, 16, 16] = image[0, 0, 4, 4] = 1
    moves = np.zeros((3, 2))
    moves[0] = 0.5, -1
    found = elastic_transform(image, (0, 0, 0.1), [JobProgress(moves, np.zeros((2, 20, 20)))])[0, 0]
    assert found[17, 14] == pytest.approx(1, abs=1e-6)
    assert found[4, 4] == pytest.approx(1, abs=1e-6)


def test_elastic_warp_interpolates_fractional_displacements(pictures):
    """0.05 * 20 rows times 1/2, and columns times 1/4: the smoothing leaves a constant as it is."""
    images = pictures(1, 1, 20, 24) / np.float32(255)
    field = np.stack([np.full((20, 24), 0.5), np.full((20, 24), 0.25)])
    found = elastic_transform(images, (0.05, 0.1, 0), [JobProgress(STILL[0], field)])[0, 0]
    x = images[0, 0]
    rows = 0.5 * (x[:-1] + x[1:])
    np.testing.assert_allclose(found[:-1, :-1], 0.75 * rows[:, :-1] + 0.25 * rows[:, 1:], atol=1e-6)
