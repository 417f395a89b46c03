"""Corruptions by the weather and the light."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bench.shifts.blur import smeared, zoomed

LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # of red, green and blue (ITU-R BT.601)


class Snow(NamedTuple):
    """A severity of `snow`.

    Attributes:
        mean, sd: of the brightness of flakes before those below `threshold` are dropped.
        magnification: of the layer of flakes.
        threshold: below which there is no flake.
        radius, smear: radius and sd (pixels) of the flakes' smear.
        kept: share of the image's own colours.
    """

    mean: float
    sd: float
    magnification: float
    threshold: float
    radius: int
    smear: float
    kept: float


def snow(images: np.ndarray, level: Snow, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Paled colours under flakes that fall from both sides: c x + (1 - c) max(x, 1.5 grey(x) + 0.5) + flakes."""
    drawn = np.stack([one.standard_normal(images.shape[2:], np.float32) for one in generators])[:, None]
    angles = np.array([one.uniform(-135, -45) for one in generators])
    flakes = zoomed(level.mean + level.sd * drawn, level.magnification)
    flakes = smeared(np.where(flakes < level.threshold, 0, flakes).clip(0, 1), level.radius, level.smear, angles)
    pale = np.maximum(images, 1.5 * _grey(images) + 0.5)
    return level.kept * images + (1 - level.kept) * pale + flakes + flakes[:, :, ::-1, ::-1]


def fog(images: np.ndarray, level: tuple[float, float], generators: Sequence[np.random.Generator]) -> np.ndarray:
    """(x + density f) max(x) / (max(x) + density); `level` is the density and the `decay` of the plasma f."""
    density, decay = level
    height, width = images.shape[2:]
    size = 1 << (max(height, width) - 1).bit_length()
    haze = plasma(np.stack([one.uniform(-1, 1, (size, size)) for one in generators]), decay)[:, :height, :width]
    brightest = images.max((1, 2, 3), keepdims=True)
    return (images + density * haze[:, None].astype(images.dtype)) * brightest / (brightest + density)


def plasma(wobble: np.ndarray, decay: float) -> np.ndarray:
    """Heights (n, S, S) from 0 to 1 by the diamond-square algorithm on a torus, S a power of two.

    Starting from one corner of height 0, the middle of each square gets the mean of its corners, then the middle of
    each side the mean of its four neighbours, plus a wobble whose size falls by decay^2 as the squares are halved.

    Args:
        wobble: (n, S, S), that of each place before it is scaled.
    """
    heights, side, scale = np.zeros_like(wobble), wobble.shape[1], 1.0
    while side >= 2:
        on, off = slice(None, None, side), slice(side // 2, None, side)
        corners = heights[:, on, on]
        beside = corners + np.roll(corners, -1, 2)
        middles = (beside + np.roll(beside, -1, 1)) / 4 + scale * wobble[:, off, off]
        heights[:, off, off] = middles
        heights[:, on, off] = (beside + middles + np.roll(middles, 1, 1)) / 4 + scale * wobble[:, on, off]
        below = corners + np.roll(corners, -1, 1)
        heights[:, off, on] = (below + middles + np.roll(middles, 1, 2)) / 4 + scale * wobble[:, off, on]
        side, scale = side // 2, scale / decay**2
    lowest = heights.min((1, 2), keepdims=True)
    return (heights - lowest) / (heights.max((1, 2), keepdims=True) - lowest)


def brightness(images: np.ndarray, more: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """`more` is added to V = max over channels, up to 1, at the same hue and saturation: all channels by one factor."""
    value = images.max(1, keepdims=True)
    brighter = np.minimum(value + more, 1)
    return np.divide(images * brighter, value, out=np.broadcast_to(brighter, images.shape).copy(), where=value > 0)


def _grey(images: np.ndarray) -> np.ndarray:
    """(n, 1, H, W)."""
    return np.einsum("c,nchw->nhw", LUMA, images)[:, None] if images.shape[1] == 3 else images.mean(1, keepdims=True)
