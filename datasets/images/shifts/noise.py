"""Corruptions by independent noise in every pixel and channel."""

from collections.abc import Sequence

import numpy as np


def gaussian_noise(images: np.ndarray, sd: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Add Gaussian noise: return x + sd e with e ~ N(0, 1), for pixels x in [0, 1]."""
    shape = images.shape[1:]
    drawn = np.stack([generator.standard_normal(shape, np.float32) for generator in generators])
    noisy: np.ndarray = images + sd * drawn
    return noisy


def shot_noise(images: np.ndarray, photons: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Replace each pixel x in [0, 1] by k / photons with k ~ Poisson(photons x): mean x, variance x / photons."""
    pairs = zip(generators, images, strict=True)
    return np.stack([generator.poisson(photons * x) for generator, x in pairs]).astype(np.float32) / photons


def speckle_noise(images: np.ndarray, sd: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Add noise in proportion to each pixel x in [0, 1]: return x + x sd e with e ~ N(0, 1)."""
    noisy: np.ndarray = images + images * (gaussian_noise(images, sd, generators) - images)
    return noisy


def impulse_noise(images: np.ndarray, share: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Set a fraction `share` of the values to 0 or 1, with equal probability."""
    drawn = np.stack([generator.random(images.shape[1:], np.float32) for generator in generators])
    return np.where(drawn < share / 2, 0, np.where(drawn >= 1 - share / 2, 1, images))
