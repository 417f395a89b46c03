"""Corruptions that mix neighbouring pixels."""

from collections.abc import Sequence
from math import ceil

import numpy as np
from scipy.ndimage import convolve, gaussian_filter, zoom

STEEPEST = 45  # degrees from the horizontal that a motion may have


def defocus_blur(
    images: np.ndarray, level: tuple[float, float], generators: Sequence[np.random.Generator]
) -> np.ndarray:
    """Convolution with a disk; `level` is its radius, and the sd of the Gaussian that softens its edge, in pixels."""
    radius, sd = level
    y, x = np.mgrid[-2:3, -2:3]
    soft = np.exp(-(np.array([1, 0, 1]) ** 2) / (2 * sd**2))
    kernel = convolve((x**2 + y**2 <= radius**2).astype(float), np.outer(soft, soft), mode="constant")
    return convolve(images, kernel[None, None] / kernel.sum(), mode="mirror")


def glass_blur(images: np.ndarray, level: tuple[float, int], generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Pixels take the place of near ones; `level` is the sd (pixels) of a blur before and after, and how often.

    Each time a pixel takes the value of itself or of its left, upper or upper left neighbour, with equal probability.
    The published code means to exchange two pixels, but copies one over the other.
    """
    sd, times = level
    height, width = images.shape[2:]
    images = _gaussian(images, sd)
    # The first two rows and columns stay where they are, as in the published code.
    y, x = np.mgrid[2:height, 2:width]
    steps = np.stack([one.integers(0, 2, (2, 2, *y.shape)) for one in generators])
    for time in range(times):
        up, left = steps[:, time].transpose(1, 0, 2, 3)
        images = images.copy()
        images[:, :, 2:, 2:] = _picked(images, (y - up) * width + x - left)
    return _gaussian(images, sd)


def motion_blur(images: np.ndarray, level: tuple[int, float], generators: Sequence[np.random.Generator]) -> np.ndarray:
    """A smear along a line of random direction; `level` is `radius` and `sd` of `smeared`."""
    return smeared(images, *level, np.array([one.uniform(-STEEPEST, STEEPEST) for one in generators]))


def zoom_blur(images: np.ndarray, percent: int, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """The mean of the images, once more than the others, and of them magnified by 0, 1, ..., `percent` per cent."""
    total = sum(zoomed(images, 1 + step / 100) for step in range(percent + 1))
    return (images + total) / (percent + 2)


def smeared(images: np.ndarray, radius: int, sd: float, angles: np.ndarray) -> np.ndarray:
    """sum_i w_i x(p + i d), w_i ~ exp(-i^2 / (2 sd^2)), for i = 0 to 2 radius, along each image's own direction d.

    Places are rounded to whole pixels, and those outside take the nearest pixel's value: ImageMagick's motion blur.

    Args:
        images: (n, C, H, W).
        radius, sd: pixels.
        angles: (n,) of the directions, degrees.
    """
    height, width = images.shape[2:]
    distance = np.arange(2 * radius + 1)
    weights = np.exp(-(distance**2) / (2 * sd**2))
    weights /= weights.sum()
    radians = np.deg2rad(angles)[:, None]
    down, right = (np.ceil(distance * part(radians) - 0.5).astype(int) for part in (np.sin, np.cos))
    found = np.zeros_like(images)
    for i, weight in enumerate(weights.astype(images.dtype)):
        y = (np.arange(height) + down[:, i, None]).clip(0, height - 1)
        x = (np.arange(width) + right[:, i, None]).clip(0, width - 1)
        found += weight * _picked(images, y[:, :, None] * width + x[:, None, :])
    return found


def zoomed(images: np.ndarray, factor: float) -> np.ndarray:
    """The middle of the images (..., H, W), magnified to their size by linear interpolation."""
    height, width = images.shape[-2:]
    return _zoom_matrix(height, factor, images.dtype) @ images @ _zoom_matrix(width, factor, images.dtype).T


def _zoom_matrix(size: int, factor: float, dtype: np.dtype) -> np.ndarray:
    """(size, size): what a line of pixels is multiplied by."""
    kept = ceil(size / factor)
    first = (size - kept) // 2
    grown = zoom(np.eye(size)[first : first + kept], (factor, 1), order=1)
    trimmed = (len(grown) - size) // 2
    return grown[trimmed : trimmed + size].astype(dtype)


def _gaussian(images: np.ndarray, sd: float) -> np.ndarray:
    return gaussian_filter(images, (0, 0, sd, sd), mode="nearest")


def _picked(images: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The pixels of images (n, C, H, W) at each one's own places (n, h, w), counted row by row: (n, C, h, w)."""
    n, channels = images.shape[:2]
    found = np.take_along_axis(images.reshape(n, channels, -1), places.reshape(n, 1, -1), 2)
    return found.reshape(n, channels, *places.shape[1:])
