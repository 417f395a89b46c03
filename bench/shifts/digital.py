"""Corruptions by how images are stored, scaled and warped."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates


def contrast(images: np.ndarray, kept: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """m + kept (x - m) with m the mean of a channel of an image."""
    mean = images.mean((2, 3), keepdims=True)
    return mean + kept * (images - mean)


def elastic_transform(
    images: np.ndarray, level: tuple[float, float, float], generators: Sequence[np.random.Generator]
) -> np.ndarray:
    """A random affine map, then a smooth random displacement of every pixel, by linear interpolation.

    `level`, in sides of the image: the size of the displacement, the sd of the Gaussian that smooths it, and how far
    the three points that fix the affine map may move either way.
    """
    stretch, smoothness, reach = (min(images.shape[2:]) * part for part in level)
    changed = np.empty_like(images)
    for image, one, found in zip(images, generators, changed, strict=True):
        places = _affine_places(image.shape[1:], reach * one.uniform(-1, 1, (3, 2)))
        field = one.uniform(-1, 1, (2, *image.shape[1:]))
        moved = np.indices(field.shape[1:]) + stretch * gaussian_filter(field, (0, smoothness, smoothness), truncate=3)
        for plane, out in zip(image, found, strict=True):
            map_coordinates(map_coordinates(plane, places, order=1, mode="mirror"), moved, out, 1, mode="reflect")
    return changed


def _affine_places(shape: tuple[int, int], moves: np.ndarray) -> np.ndarray:
    """Where the pixels come from, (2, H, W) rows and columns, if three points around the centre move by (3, 2)."""
    centre, arm = np.array(shape) // 2, min(shape) // 3
    before = centre + arm * np.array([[1, 1], [1, -1], [-1, -1]])
    back = np.linalg.solve(np.column_stack([before + moves, np.ones(3)]), before)  # (3, 2)
    return np.einsum("ij,ihw->jhw", back[:2], np.indices(shape)) + back[2][:, None, None]


def pixelate(images: np.ndarray, share: float, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Scaled down to `share` of their height and width by the mean over boxes, and up again likewise."""
    from PIL import Image

    def through_boxes(image: Image.Image) -> Image.Image:
        small = image.resize(tuple(int(size * share) for size in image.size), Image.Resampling.BOX)
        return small.resize(image.size, Image.Resampling.BOX)

    return _as_pillow(images, through_boxes)


def jpeg_compression(images: np.ndarray, quality: int, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Stored as JPEG of `quality` (from 1 to 95), and read again."""
    from PIL import Image

    def through_a_file(image: Image.Image) -> Image.Image:
        file = BytesIO()
        image.save(file, "JPEG", quality=quality)
        return Image.open(file)

    return _as_pillow(images, through_a_file)


def _as_pillow(images: np.ndarray, change) -> np.ndarray:
    """`change` of each image as one of Pillow's: of three channels in colour, else channel by channel in grey."""
    from PIL import Image

    parts = images if images.shape[1] == 3 else images.reshape(-1, 1, *images.shape[2:])
    grey_levels = (255 * parts).round().astype(np.uint8).transpose(0, 2, 3, 1)
    changed = [
        np.asarray(change(Image.fromarray(part.squeeze(-1) if part.shape[2] == 1 else part))) for part in grey_levels
    ]
    changed = np.stack(changed).reshape(grey_levels.shape).transpose(0, 3, 1, 2)
    return changed.reshape(images.shape).astype(np.float32) / 255
