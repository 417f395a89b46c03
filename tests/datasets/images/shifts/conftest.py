"""Images that are smooth and detailed enough to be blurred, scaled and moved."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter


@pytest.fixture
def pictures():
    """Make uint8 images (n, C, H, W) of random blobs over all grey levels."""

    def make(n: int, channels: int, height: int, width: int, seed: int = 0) -> np.ndarray:
        noise = np.random.default_rng(seed).normal(size=(n, channels, height, width))
        blobs = gaussian_filter(noise, (0, 0, 1.5, 1.5))
        return np.clip(128 + 80 * blobs / blobs.std(), 0, 255).astype(np.uint8)

    return make
