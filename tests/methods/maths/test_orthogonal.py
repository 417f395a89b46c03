"""Thin QR decompositions against NumPy's, and a matrix alone against the same one in a stack."""

import numpy as np
import pytest
import torch
from torch.func import vmap

from lockstep_bench.methods.maths.orthogonal import thin_qr

SHAPES = pytest.mark.parametrize("shape", [(58, 8), (10, 3), (4, 2), (16, 5), (751, 10), (5, 5)], ids=str)


def matrices(n: int, shape: tuple[int, int], dtype: torch.dtype) -> torch.Tensor:
    return torch.randn((n, *shape), generator=torch.Generator().manual_seed(0), dtype=dtype)


@SHAPES
def test_qr_decomposition_equals_numpys_up_to_signs(shape):
    (matrix,) = matrices(1, shape, torch.float64)
    q, r = thin_qr(matrix)
    expected_q, expected_r = np.linalg.qr(matrix.numpy())
    np.testing.assert_allclose(q.abs(), np.abs(expected_q), atol=1e-12)
    np.testing.assert_allclose(r.abs(), np.abs(expected_r), atol=1e-12)
    torch.testing.assert_close(q @ r, matrix)


@SHAPES
def test_qr_bits_do_not_depend_on_stack_position(shape):
    stack = matrices(23, shape, torch.float32)
    for first in (0, 1, 6):
        together = vmap(thin_qr)(stack[first:])
        for place, matrix in enumerate(stack[first:].clone()):
            for found, expected in zip(together, thin_qr(matrix.clone()), strict=True):
                assert torch.equal(found[place], expected)
