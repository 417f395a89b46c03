"""Digital corruptions: contrast, elastic warps, pixelation, JPEG compression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from PIL import Image


def contrast(images: np.ndarray, kept: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Reduce contrast: return m + kept (x - m), where m is the mean of each channel of each image x."""
    mean = images.mean((2, 3), keepdims=True)
    flatter: np.ndarray = mean + kept * (images - mean)
    return flatter


def elastic_transform(
    images: np.ndarray, level: tuple[float, float, float], generators: Sequence[np.random.Generator]
) -> np.ndarray:
    """Apply a random affine map, then a smooth random displacement of every pixel, by linear interpolation.

    `level` has three lengths in units of the image's side: the size of the displacement, the sd of the Gaussian that
    smooths it, and the largest move of each of the three points that define the affine map.
    """
    smooth, warp = scipy.ndimage.gaussian_filter, scipy.ndimage.map_coordinates
    stretch, smoothness, reach = (min(images.shape[2:]) * part for part in level)
    changed = np.empty_like(images)
    for image, generator, warped in zip(images, generators, changed, strict=True):
        places = _affine_places(image.shape[1:], reach * generator.uniform(-1, 1, (3, 2)))
        field = generator.uniform(-1, 1, (2, *image.shape[1:]))
        moved = np.indices(field.shape[1:]) + stretch * smooth(field, (0, smoothness, smoothness), truncate=3)
        for plane, out in zip(image, warped, strict=True):
            warp(warp(plane, places, order=1, mode="mirror"), moved, out, 1, mode="reflect")
    return changed


def _affine_places(shape: tuple[int, int], moves: np.ndarray) -> np.ndarray:
    """Return the source rows and columns of all pixels, (2, H, W), if three points move by `moves` (3, 2), pixels."""
    centre, arm = np.array(shape) // 2, min(shape) // 3
    before = centre + arm * np.array([[1, 1], [1, -1], [-1, -1]])
    back = np.linalg.solve(np.column_stack([before + moves, np.ones(3)]), before)  # (3, 2)
    places: np.ndarray = np.einsum("ij,ihw->jhw", back[:2], np.indices(shape)) + back[2][:, None, None]
    return places


def pixelate(images: np.ndarray, share: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Scale images down to `share` of their height and width by box averages, and up again."""
    from PIL import Image

    def through_boxes(image: Image.Image) -> Image.Image:
        small = image.resize((int(image.width * share), int(image.height * share)), Image.Resampling.BOX)
        return small.resize(image.size, Image.Resampling.BOX)

    return _as_pillow(images, through_boxes)


def jpeg_compression(images: np.ndarray, quality: int, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Store images as JPEG of `quality` (1 to 95) and read them again."""
    from PIL import Image

    def through_a_file(image: Image.Image) -> Image.Image:
        file = BytesIO()
        image.save(file, "JPEG", quality=quality)
        return Image.open(file)

    return _as_pillow(images, through_a_file)


def _as_pillow(images: np.ndarray, change: Callable[[Image.Image], Image.Image]) -> np.ndarray:
    """Apply `change` to Pillow images: to colour images as a whole, to others channel by channel."""
    from PIL import Image

    parts = images if images.shape[1] == 3 else images.reshape(-1, 1, *images.shape[2:])
    grey_levels = (255 * parts).round().astype(np.uint8).transpose(0, 2, 3, 1)
    changed = [
        np.asarray(change(Image.fromarray(part.squeeze(-1) if part.shape[2] == 1 else part))) for part in grey_levels
    ]
    stacked = np.stack(changed).reshape(grey_levels.shape).transpose(0, 3, 1, 2)
    return stacked.reshape(images.shape).astype(np.float32) / 255
