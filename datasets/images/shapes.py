"""Conversion of images: decoding of files, size and colour."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MODES = {1: "L", 3: "RGB"}  # by channels, as Pillow calls them


def decoded(file: BinaryIO | Path, image: tuple[int, int, int], resize: bool = False) -> np.ndarray:
    """Decode an image file into pixels, uint8 (C, H, W).

    Args:
        file: path or open file of the image.
        image: shape (C, H, W) of the result; colours are converted to C channels.
        resize: whether to resize images of another size to H x W, as `as_images` does.

    Raises:
        ValueError: the image has another size, and `resize` is false.
    """
    from PIL import Image

    channels, height, width = image
    with Image.open(file) as picture:
        if not resize and picture.size != (width, height):
            raise ValueError(f"images should be {height} x {width} pixels, got {picture.height} x {picture.width}")
        return _channels_first(_resized(picture.convert(MODES[channels]), height, width))


def as_images(x: np.ndarray, image: tuple[int, int, int], like: tuple[int, int, int]) -> np.ndarray:
    """Convert images to the shape that a model expects.

    Colour becomes grey as 0.299 R + 0.587 G + 0.114 B, before resizing. Grey becomes three equal channels, after
    resizing. Resizing ignores the ratio of the sides; it uses Pillow's bilinear filter, whose support grows with the
    reduction (antialiasing).

    Args:
        x: uint8 (N, C * H * W), channel by channel.
        image: shape (C, H, W) of these images, with 1 or 3 channels.
        like: shape (C', H', W') that the model expects.

    Returns:
        uint8 (N, C' * H' * W'); x itself if the shapes are equal.

    Raises:
        ValueError: a shape does not fit x, or has neither 1 nor 3 channels.
    """
    from PIL import Image

    for shape in (image, like):
        if len(shape) != 3 or shape[0] not in MODES:
            raise ValueError(f"images should have a shape of 1 or 3 channels, a height and a width, got {shape}")
    n_pixels = math.prod(image)
    if x.dtype != np.uint8 or x.shape[1:] != (n_pixels,):
        raise ValueError(f"x should be uint8 (N, {n_pixels}) for images of shape {image}, got {x.dtype} {x.shape}")
    if tuple(image) == tuple(like):
        return x
    channels, height, width = like
    mode = MODES[min(image[0], channels)]
    converted = np.empty((len(x), *like), np.uint8)
    for row, pixels in enumerate(x.reshape(-1, *image)):
        picture = Image.fromarray(pixels[0] if image[0] == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))
        converted[row] = _channels_first(_resized(picture.convert(mode), height, width))
    return converted.reshape(len(x), -1)


def _resized(picture: "Picture", height: int, width: int) -> "Picture":
    from PIL import Image

    return picture if picture.size == (width, height) else picture.resize((width, height), Image.Resampling.BILINEAR)


def _channels_first(picture: "Picture") -> np.ndarray:
    """Return pixels (3, H, W) of a picture in colour, (1, H, W) of a grey one."""
    pixels = np.asarray(picture)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
