"""Lower triangular matrices with a positive diagonal, the Cholesky factors of covariances, as vectors of numbers."""

from math import expm1, log

import torch
from torch import Tensor
from torch.nn.functional import softplus


def lower_triangle(raw: Tensor, size: int) -> Tensor:
    """Return L (size, size) with softplus-transformed diagonal, given its lower triangle row by row.

    Args:
        raw: (size (size + 1) / 2,) numbers.
        size: number of rows.
    """
    number = torch.arange(size, device=raw.device)
    place = (number * (number + 1) // 2)[:, None] + number
    full = raw[place.clamp(max=len(raw) - 1)]
    return full.tril(-1) + torch.diag(softplus(full.diagonal()))


def raw_diagonal(value: float, like: Tensor) -> Tensor:
    """Return `raw` with `lower_triangle(raw, size)` = value I, of the type and device of `like` (size,)."""
    diagonal = torch.eye(len(like), dtype=like.dtype, device=like.device)
    return inverse_softplus(value) * diagonal[*torch.tril_indices(*diagonal.shape)]


def length(size: int) -> int:
    """Return the number of entries of a lower triangle."""
    return size * (size + 1) // 2


def inverse_softplus(value: float) -> float:
    """Return x with log(1 + e^x) = value."""
    return log(expm1(value))
