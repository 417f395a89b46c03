"""Corruptions by weather and light: snow, fog, brightness, saturation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lockstep_bench.datasets.images.shifts.blur import smeared, zoomed

LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # of red, green and blue (ITU-R BT.601)


class Snow(NamedTuple):
    """Parameters of `snow` at one severity.

    Attributes:
        mean: mean brightness of the layer of flakes, before thresholding.
        sd: standard deviation of that brightness.
        magnification: magnification of the layer of flakes.
        threshold: brightness below which there is no flake.
        radius: radius of the flakes' motion blur, pixels.
        smear: standard deviation of the flakes' motion blur, pixels.
        kept: weight of the original image against its paled version.
    """

    mean: float
    sd: float
    magnification: float
    threshold: float
    radius: int
    smear: float
    kept: float


def snow(images: np.ndarray, level: Snow, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Pale the colours and add flakes from both sides: c x + (1 - c) max(x, 1.5 grey(x) + 0.5) + flakes, c = kept."""
    drawn = np.stack([generator.standard_normal(images.shape[2:], np.float32) for generator in generators])[:, None]
    angles = np.array([generator.uniform(-135, -45) for generator in generators])
    flakes = zoomed(level.mean + level.sd * drawn, level.magnification)
    flakes = smeared(np.where(flakes < level.threshold, 0, flakes).clip(0, 1), level.radius, level.smear, angles)
    pale = np.maximum(images, 1.5 * _grey(images) + 0.5)
    snowy: np.ndarray = level.kept * images + (1 - level.kept) * pale + flakes + flakes[:, :, ::-1, ::-1]
    return snowy


def fog(images: np.ndarray, level: tuple[float, float], generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Return foggy images (x + density f) max(x) / (max(x) + density); `level` is (density, decay of the plasma f)."""
    density, decay = level
    height, width = images.shape[2:]
    size = 1 << (max(height, width) - 1).bit_length()
    haze = plasma(np.stack([generator.uniform(-1, 1, (size, size)) for generator in generators]), decay)[
        :, :height, :width
    ]
    brightest = images.max((1, 2, 3), keepdims=True)
    foggy: np.ndarray = (images + density * haze[:, None].astype(images.dtype)) * brightest / (brightest + density)
    return foggy


def plasma(wobble: np.ndarray, decay: float) -> np.ndarray:
    """Return random heights (n, S, S) in [0, 1] by the diamond-square algorithm on a torus, S a power of two.

    The algorithm starts from one corner of height 0. The middle of each square gets the mean of its corners, then the
    middle of each side the mean of its four neighbours, plus scaled noise. The scale falls by decay^2 at each halving.

    Args:
        wobble: (n, S, S), the noise before scaling.
        decay: square root of the factor by which the noise falls at each halving.
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
    relative: np.ndarray = (heights - lowest) / (heights.max((1, 2), keepdims=True) - lowest)
    return relative


def brightness(images: np.ndarray, more: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Add `more` to the HSV value V of each pixel (its largest channel), clipped at 1; hue and saturation stay."""
    value = images.max(1, keepdims=True)
    brighter = np.minimum(value + more, 1)
    scaled: np.ndarray = np.divide(
        images * brighter, value, out=np.broadcast_to(brighter, images.shape).copy(), where=value > 0
    )
    return scaled


def saturate(images: np.ndarray, level: tuple[float, float], generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Change the HSV saturation s of each pixel to a s + b, clipped to [0, 1]; `level` is (a, b).

    Hue and value V stay. The channels of a colour are V (1 - s f), where f is 0 for the brightest channel and 1 for the
    darkest. Grey pixels have no hue and are treated as red, as in the published code. Images without three channels
    have no colours and are left as they are.
    """
    if images.shape[1] != 3:
        return images.copy()
    factor, more = level
    value = images.max(1, keepdims=True)
    chroma = value - images.min(1, keepdims=True)
    red = np.broadcast_to(np.array([0, 1, 1], images.dtype)[:, None, None], images.shape)
    shape = np.divide(value - images, chroma, out=red.copy(), where=chroma > 0)
    saturation = np.divide(chroma, value, out=np.zeros_like(chroma), where=value > 0)
    saturated: np.ndarray = value * (1 - np.clip(factor * saturation + more, 0, 1) * shape)
    return saturated


def _grey(images: np.ndarray) -> np.ndarray:
    """Return the luminance of images (n, C, H, W), (n, 1, H, W)."""
    grey: np.ndarray = (
        np.einsum("c,nchw->nhw", LUMA, images)[:, None] if images.shape[1] == 3 else images.mean(1, keepdims=True)
    )
    return grey
