"""Images that are turned or moved as a whole, as MNIST was by Ovadia et al. 2019, "Can you trust your model's
uncertainty?"."""

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import rotate


def rotation(images: np.ndarray, degrees: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Turned anticlockwise about their centre by linear interpolation; what comes from outside is black."""
    return rotate(images, degrees, axes=(3, 2), reshape=False, order=1)


def translation(images: np.ndarray, pixels: int, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Moved to the right; what leaves at one side comes back at the other."""
    return np.roll(images, pixels, 3)
