"""QR decompositions that are bit for bit the same for one matrix alone and for the matrix in a batch."""

import torch
from torch import Tensor

CACHE_LINE = 16  # numbers in single precision


def thin_qr(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return Q (N, K), with orthonormal columns, and the upper triangle R (K, K), for Q R = matrix (N, K), N >= K."""
    # Rows of zeros let the columns of every matrix of a stack begin on a cache line. Otherwise LAPACK's rounding would
    # depend on the place in the stack on some processors, and with it the fit.
    n_rows, n_columns = matrix.shape
    q: Tensor
    r: Tensor
    q, r = torch.linalg.qr(torch.cat([matrix, matrix.new_zeros(-n_rows % CACHE_LINE, n_columns)]))
    return q[:n_rows], r
