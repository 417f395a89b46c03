"""Corruptions that mix neighbouring pixels."""

from collections.abc import Sequence
from math import ceil

import numpy as np
import scipy

STEEPEST = 45  # largest angle of a motion from the horizontal, degrees


def defocus_blur(
    images: np.ndarray, level: tuple[float, float], generators: Sequence[np.random.Generator]
) -> np.ndarray:
    """Convolve images with a soft disk; `level` is its radius and the sd of the Gaussian on its edge, in pixels."""
    radius, sd = level
    y, x = np.mgrid[-2:3, -2:3]
    soft = np.exp(-(np.array([1, 0, 1]) ** 2) / (2 * sd**2))
    kernel = scipy.ndimage.convolve((x**2 + y**2 <= radius**2).astype(float), np.outer(soft, soft), mode="constant")
    return scipy.ndimage.convolve(images, kernel[None, None] / kernel.sum(), mode="mirror")


def gaussian_blur(images: np.ndarray, sd: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Convolve images with a Gaussian of standard deviation `sd`, in pixels."""
    return _gaussian(images, sd)


def glass_blur(images: np.ndarray, level: tuple[float, int], generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Blur, shuffle neighbouring pixels, and blur again; `level` is the blurs' sd (pixels) and the number of shuffles.

    At each shuffle a pixel takes the value of itself or of its left, upper or upper left neighbour, with equal
    probability. The published code intends to exchange two pixels, but copies one over the other.
    """
    sd, times = level
    height, width = images.shape[2:]
    images = _gaussian(images, sd)
    # The first two rows and columns are not shuffled, as in the published code.
    y, x = np.mgrid[2:height, 2:width]
    steps = np.stack([generator.integers(0, 2, (2, 2, *y.shape)) for generator in generators])
    for time in range(times):
        up, left = steps[:, time].transpose(1, 0, 2, 3)
        images = images.copy()
        images[:, :, 2:, 2:] = _picked(images, (y - up) * width + x - left)
    return _gaussian(images, sd)


def motion_blur(images: np.ndarray, level: tuple[int, float], generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Blur images along a line of random direction; `level` is (`radius`, `sd`) of `smeared`, in pixels."""
    return smeared(images, *level, np.array([generator.uniform(-STEEPEST, STEEPEST) for generator in generators]))


def zoom_blur(images: np.ndarray, percent: int, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Average each image and its magnifications by 1, 2, ..., `percent` per cent."""
    total = sum(zoomed(images, 1 + step / 100) for step in range(percent + 1))
    return (images + total) / (percent + 2)


def smeared(images: np.ndarray, radius: int, sd: float, angles: np.ndarray) -> np.ndarray:
    """Return images blurred by sum_i w_i x(p + i d), w_i ~ exp(-i^2 / (2 sd^2)), i = 0 to 2 radius.

    Positions p + i d are rounded to whole pixels; a position p + i d outside the image takes the nearest pixel's value.
    ImageMagick's motion blur is defined in this way.

    Args:
        images: (n, C, H, W).
        radius: half the length of the blur, pixels.
        sd: standard deviation of the weights, pixels.
        angles: (n,), angle of each image's direction d, degrees.
    """
    height, width = images.shape[2:]
    distance = np.arange(2 * radius + 1)
    weights = np.exp(-(distance**2) / (2 * sd**2))
    weights /= weights.sum()
    radians = np.deg2rad(angles)[:, None]
    down, right = (np.ceil(distance * part(radians) - 0.5).astype(int) for part in (np.sin, np.cos))
    blurred = np.zeros_like(images)
    for i, weight in enumerate(weights.astype(images.dtype)):
        y = (np.arange(height) + down[:, i, None]).clip(0, height - 1)
        x = (np.arange(width) + right[:, i, None]).clip(0, width - 1)
        blurred += weight * _picked(images, y[:, :, None] * width + x[:, None, :])
    return blurred


def zoomed(images: np.ndarray, factor: float) -> np.ndarray:
    """Return the middle of the images (..., H, W), magnified by `factor` to the full size by linear interpolation."""
    height, width = images.shape[-2:]
    zoom: np.ndarray = _zoom_matrix(height, factor, images.dtype) @ images @ _zoom_matrix(width, factor, images.dtype).T
    return zoom


def _zoom_matrix(size: int, factor: float, dtype: np.dtype) -> np.ndarray:
    """Return the matrix (size, size) that magnifies a line of pixels."""
    kept = ceil(size / factor)
    first = (size - kept) // 2
    grown = scipy.ndimage.zoom(np.eye(size)[first : first + kept], (factor, 1), order=1)
    trimmed = (len(grown) - size) // 2
    return grown[trimmed : trimmed + size].astype(dtype)


def _gaussian(images: np.ndarray, sd: float) -> np.ndarray:
    return scipy.ndimage.gaussian_filter(images, (0, 0, sd, sd), mode="nearest")


def _picked(images: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return pixels (n, C, h, w) of images (n, C, H, W) at positions `places` (n, h, w), numbered row by row."""
    n, channels = images.shape[:2]
    pixels = np.take_along_axis(images.reshape(n, channels, -1), places.reshape(n, 1, -1), 2)
    return pixels.reshape(n, channels, *places.shape[1:])
