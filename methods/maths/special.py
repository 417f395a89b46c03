"""Special functions computed from elementary functions alone, which compile to native code."""

import torch
from torch import Tensor

SHIFT = 4


def log_gamma_ratio(a: Tensor) -> Tensor:
    """Return log Gamma(a + 1/2) - log Gamma(a) for a >= 1, to 2e-8.

    The asymptotic series of the ratio (DLMF 5.11.13) is taken at z = a + 4, and Gamma(z + 1) = z Gamma(z) leads back.
    Unlike `lgamma` and its derivative, it consists of elementary functions.
    """
    z = a + SHIFT
    series = 0.5 * z.log() - 1 / (8 * z) + 1 / (192 * z**3) - 1 / (640 * z**5)
    back: Tensor = torch.stack([torch.log1p(-0.5 / (a + k + 0.5)) for k in range(SHIFT)]).sum(0)
    return series + back
