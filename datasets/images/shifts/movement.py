"""Rotation and translation of whole images, as MNIST is shifted by Ovadia et al. 2019."""

from collections.abc import Sequence

import numpy as np
import scipy


def rotation(images: np.ndarray, degrees: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Rotate images anticlockwise about their centre by linear interpolation; uncovered pixels become black."""
    return scipy.ndimage.rotate(images, degrees, axes=(3, 2), reshape=False, order=1)


def translation(images: np.ndarray, pixels: int, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Move images to the right; pixels that leave at the right edge enter at the left edge."""
    return np.roll(images, pixels, 3)
