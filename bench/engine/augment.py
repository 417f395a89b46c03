"""The usual changes of training images, on the device where they lie."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from methods.maths.noise import Noise

MARGIN = 4  # pixels, of 32 (He et al. 2016, section 4.2); other sizes in proportion
SIZE = 32


def crops_and_flips(pixels: Tensor, image: tuple[int, int, int], noise: Noise, *, flip: bool = True) -> Tensor:
    """Pixels (M, C H W) of images that were moved by up to an eighth of their size, black where nothing was, and half
    of them mirrored.

    Each of M images is moved by its own whole number of pixels, uniform in [-m, m] along each axis, and mirrored left
    to right with its own probability of 1/2 if `flip`. `image` is (C, H, W).
    """
    _, height, width = image
    margin = round(MARGIN * height / SIZE)
    padded = pad(pixels.reshape(-1, *image), (margin,) * 4)
    # A normal number that rounds to 1 would otherwise fall off the end.
    start = (noise.uniform(2, len(pixels)) * (2 * margin + 1)).long().clamp(max=2 * margin)
    rows = start[0, :, None] + torch.arange(height, device=pixels.device)
    columns = start[1, :, None] + torch.arange(width, device=pixels.device)
    if flip:
        mirrored = noise.uniform(len(pixels), 1) < 0.5
        columns = torch.where(mirrored, columns.flip(1), columns)
    each = torch.arange(len(pixels), device=pixels.device)[:, None, None]
    moved = padded.permute(0, 2, 3, 1)[each, rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2).reshape(pixels.shape)
