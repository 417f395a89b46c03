"""Random crops and flips of training images, on the device that holds them."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from lockstep_bench.methods.maths.noise import Noise

# (pixels (M, P), noise) -> pixels (M, P)
Augment = Callable[[Tensor, Noise], Tensor]

MARGIN = 4  # pixels, of 32 (He et al. 2016, section 4.2); other sizes in proportion
SIZE = 32


def crops_and_flips(pixels: Tensor, image: tuple[int, int, int], noise: Noise, *, flip: bool = True) -> Tensor:
    """Return images that are shifted at random, padded with black, and mirrored at random.

    The shift of each image is a whole number of pixels, uniform in [-m, m] along each axis, where m is an eighth of
    the height.

    Args:
        pixels: (M, C H W), flat images.
        image: shape (C, H, W) of an image.
        noise: random numbers of the shifts and flips.
        flip: whether every image is mirrored left to right with probability 1/2.

    Returns:
        (M, C H W), of the type of `pixels`.
    """
    _, height, width = image
    margin = round(MARGIN * height / SIZE)
    padded = pad(pixels.reshape(-1, *image), (margin,) * 4)
    # A uniform number may round to 1.
    start = (noise.uniform(2, len(pixels)) * (2 * margin + 1)).long().clamp(max=2 * margin)
    rows = start[0, :, None] + torch.arange(height, device=pixels.device)
    columns = start[1, :, None] + torch.arange(width, device=pixels.device)
    if flip:
        mirrored = noise.uniform(len(pixels), 1) < 0.5
        columns = torch.where(mirrored, columns.flip(1), columns)
    each = torch.arange(len(pixels), device=pixels.device)[:, None, None]
    moved = padded.permute(0, 2, 3, 1)[each, rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2).reshape(pixels.shape)
