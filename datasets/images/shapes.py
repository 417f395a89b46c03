"""One shape of image to another: decoding, size, colour."""

import math
from pathlib import Path
from typing import BinaryIO

import numpy as np

MODES = {1: "L", 3: "RGB"}  # by channels, as Pillow calls them


def decoded(file: BinaryIO | Path, image: tuple[int, int, int], resize: bool = False) -> np.ndarray:
    """The pixels, uint8 (C, H, W), of an image file, its colours made those of C channels.

    resize: bring it to H x W, as `as_images` does; otherwise an image of another size is refused with ValueError.
    """
    from PIL import Image

    channels, height, width = image
    with Image.open(file) as picture:
        if not resize and picture.size != (width, height):
            raise ValueError(f"images should be {height} x {width} pixels, got {picture.height} x {picture.width}")
        return _channels_first(_resized(picture.convert(MODES[channels]), height, width))


def as_images(x: np.ndarray, image: tuple[int, int, int], like: tuple[int, int, int]) -> np.ndarray:
    """Images of one shape as a model for another shape can take them.

    x: uint8 (N, C * H * W), channel by channel.
    image: their shape (C, H, W), of 1 or 3 channels.
    like: the shape (C', H', W') to give them.

    Returns uint8 (N, C' * H' * W'); x itself where the shapes are equal. Grey comes of colour as 0.299 R + 0.587 G +
    0.114 B, before the size is changed; colour of grey as three equal channels, after. The size is changed by Pillow's
    bilinear filter, whose support grows with the reduction (antialiasing), without regard to the ratio of the sides.
    Raises ValueError for shapes that do not fit x or have another number of channels.
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


def _resized(picture, height: int, width: int):
    from PIL import Image

    return picture if picture.size == (width, height) else picture.resize((width, height), Image.Resampling.BILINEAR)


def _channels_first(picture) -> np.ndarray:
    """(C, H, W) of a picture in colour, (1, H, W) of a grey one."""
    pixels = np.asarray(picture)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
