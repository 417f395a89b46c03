"""Matheron's rule: samples of a Gaussian matrix W given a matrix U, where W and U are jointly Gaussian.

The docstring of `methods.inducing` has the equations and their source.
"""

import torch
from torch import Tensor

from lockstep_bench.methods.maths.orthogonal import thin_qr


def orthonormal(z: Tensor, d: Tensor) -> Tensor:
    """Return G = L^-1 [Z D], (M, columns + M), for z (M, columns) and d (M,); L L^T = Z Z^T + D^2 (Cholesky)."""
    if len(z) == 1:  # spares a stack one factorisation per replica
        row = torch.cat([z[0], d])
        norm: Tensor = row.norm()
        return (row / norm)[None]
    q, r = thin_qr(torch.cat([z.T, torch.diag(d)]))
    return (q * r.diagonal().sign()).T  # L = R^T after its diagonal is made positive


def matheron(g_r: Tensor, g_c: Tensor, inducing: Tensor, scale: Tensor, unit: Tensor) -> Tensor:
    """Return S samples of W / sigma, (S, d_out, d_in), by Matheron's rule.

    The arguments are the symbols in the docstring of `methods.inducing`: G_r, G_c, V (`inducing`), lambda (`scale`) and
    E (`unit`).
    """
    d_out, d_in = (g.shape[1] - g.shape[0] for g in (g_r, g_c))
    residual = inducing - scale * (g_r @ unit @ g_c.T)
    return scale * unit[:, :d_out, :d_in] + g_r[:, :d_out].T @ residual @ g_c[:, :d_in]
