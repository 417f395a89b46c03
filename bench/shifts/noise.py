"""Corruptions by noise of every pixel and channel on its own."""

from collections.abc import Sequence

import numpy as np


def gaussian_noise(images: np.ndarray, sd: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """x + sd e with e ~ N(0, 1)."""
    shape = images.shape[1:]
    return images + sd * np.stack([one.standard_normal(shape, np.float32) for one in generators])


def shot_noise(images: np.ndarray, photons: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """k / photons with k ~ Poisson(photons x): the mean is x, the variance x / photons."""
    pairs = zip(generators, images, strict=True)
    return np.stack([one.poisson(photons * x) for one, x in pairs]).astype(np.float32) / photons


def impulse_noise(images: np.ndarray, share: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Half of `share` of the values become 0, the other half 1."""
    drawn = np.stack([one.random(images.shape[1:], np.float32) for one in generators])
    return np.where(drawn < share / 2, 0, np.where(drawn >= 1 - share / 2, 1, images))
