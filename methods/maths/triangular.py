"""Lower triangular matrices with a positive diagonal (Cholesky factors of covariances), stored as flat vectors."""

from math import expm1, log

import torch
from torch import Tensor
from torch.nn.functional import softplus


def lower_triangle(raw: Tensor, size: int) -> Tensor:
    """Return the lower triangular matrix L (size, size) of a vector; the diagonal is made positive by softplus.

    Args:
        raw: (size (size + 1) / 2,), the lower triangle row by row, before softplus.
        size: number of rows.
    """
    number = torch.arange(size, device=raw.device)
    place = (number * (number + 1) // 2)[:, None] + number
    full = raw[place.clamp(max=len(raw) - 1)]
    return full.tril(-1) + torch.diag(softplus(full.diagonal()))


def raw_diagonal(value: float, like: Tensor) -> Tensor:
    """Return the vector `raw` for which `lower_triangle(raw, size)` is value I.

    Type, device and size of the diagonal are those of `like` (size,).
    """
    diagonal = torch.eye(len(like), dtype=like.dtype, device=like.device)
    return inverse_softplus(value) * diagonal[*torch.tril_indices(*diagonal.shape)]


def length(size: int) -> int:
    """Return the number of entries of a lower triangle."""
    return size * (size + 1) // 2


def inverse_softplus(value: float) -> float:
    """Return x with log(1 + e^x) = value."""
    return log(expm1(value))
