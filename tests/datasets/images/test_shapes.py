"""Images change shape by the rules that are written down."""

import numpy as np
import pytest
import torch

from lockstep_bench import datasets


def test_conversion_to_the_same_shape_changes_nothing(pictures):
    x = pictures(2, (3, 4, 5)).reshape(2, -1)
    assert datasets.as_images(x, (3, 4, 5), (3, 4, 5)) is x


def test_grey_images_become_three_equal_channels(pictures):
    x = pictures(3, (1, 4, 5))
    found = datasets.as_images(x.reshape(3, -1), (1, 4, 5), (3, 4, 5)).reshape(3, 3, 4, 5)
    np.testing.assert_array_equal(found, np.repeat(x, 3, axis=1))


def test_colour_images_become_grey_by_luma(pictures):
    x = pictures(3, (3, 4, 5))
    found = datasets.as_images(x.reshape(3, -1), (3, 4, 5), (1, 4, 5)).reshape(3, 4, 5)
    wanted = np.einsum("nchw,c->nhw", x, [0.299, 0.587, 0.114])
    assert np.abs(found - wanted).max() <= 0.51  # rounded to a whole level, with weights of 16 bits
    assert datasets.as_images(x.reshape(3, -1), (3, 4, 5), (1, 4, 5)).dtype == np.uint8


@pytest.mark.parametrize(("size", "like"), [((96, 96), (32, 32)), ((28, 28), (32, 32)), ((12, 10), (5, 7))])
def test_images_are_resized_by_antialiased_bilinear_interpolation(pictures, size, like):
    x = pictures(2, (3, *size))
    found = datasets.as_images(x.reshape(2, -1), (3, *size), (3, *like)).reshape(2, 3, *like)
    tensor = torch.from_numpy(x).double()
    wanted = torch.nn.functional.interpolate(tensor, like, mode="bilinear", antialias=True, align_corners=False)
    assert (
        np.abs(found - wanted.numpy()).max() <= 1.01
    )  # rows and columns are rounded to whole levels one after another


def test_size_and_colour_are_converted_together(pictures):
    x = pictures(2, (3, 6, 6)).reshape(2, -1)
    grey = datasets.as_images(x, (3, 6, 6), (1, 6, 6))
    np.testing.assert_array_equal(
        datasets.as_images(x, (3, 6, 6), (1, 4, 4)), datasets.as_images(grey, (1, 6, 6), (1, 4, 4))
    )


@pytest.mark.parametrize(
    ("x", "image", "like", "complaint"),
    [
        (np.zeros((2, 12), np.uint8), (2, 2, 3), (1, 2, 3), r"1 or 3 channels, a height and a width, got \(2, 2, 3\)"),
        (np.zeros((2, 12), np.uint8), (3, 2, 2), (2, 2), r"1 or 3 channels, .*, got \(2, 2\)"),
        (np.zeros((2, 11), np.uint8), (3, 2, 2), (1, 2, 2), r"uint8 \(N, 12\) .*, got uint8 \(2, 11\)"),
        (np.zeros((2, 12)), (3, 2, 2), (1, 2, 2), r"uint8 \(N, 12\) .*, got float64 \(2, 12\)"),
    ],
)
def test_images_of_unsupported_shapes_are_refused(x, image, like, complaint):
    with pytest.raises(ValueError, match=complaint):
        datasets.as_images(x, image, like)
