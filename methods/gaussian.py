"""Algebra of Gaussians with a low-rank-plus-diagonal covariance, in O(D K^2)."""

from typing import NamedTuple

import torch
from torch import Tensor

from methods.noise import Noise


class LowRankNormal(NamedTuple):
    """N(mean, F F^T + diag(variance)); `factors` holds the K columns of F as rows.

    Attributes:
        mean: (D,)
        factors: (K, D), F transposed.
        variance: (D,), the diagonal part alone.
    """

    mean: Tensor
    factors: Tensor
    variance: Tensor

    def transform(self, latent: Tensor, unit: Tensor) -> Tensor:
        """Samples F h + mean + sqrt(variance) z, (S, D), of standard normal h (S, K) and z (S, D)."""
        return latent @ self.factors + self.mean + self.variance.sqrt() * unit

    def sample(self, noise: Noise, n_samples: int) -> Tensor:
        """Independent samples (S, D)."""
        k, d = self.factors.shape
        return self.transform(noise.normal(n_samples, k), noise.normal(n_samples, d))

    def covariance(self) -> Tensor:
        """The dense covariance (D, D)."""
        return self.factors.T @ self.factors + torch.diag(self.variance)

    def precision_parts(self) -> tuple[Tensor, Tensor]:
        """S^-1 F transposed, (K, D), and the diagonal of S^-1, (D,), for S = F F^T + diag(variance).

        By Woodbury with A = diag(variance)^-1 F and B = F^T A: S^-1 F = A (I + B)^-1 and
        diag(S^-1) = 1/variance - rowsum(A (I + B)^-1 * A).
        """
        scaled = self.factors / self.variance
        inverse_times_factors = inverse(self._capacitance(scaled)) @ scaled
        return inverse_times_factors, 1 / self.variance - (inverse_times_factors * scaled).sum(0)

    def _capacitance(self, scaled: Tensor) -> Tensor:
        k = self.factors.shape[0]
        return torch.eye(k, dtype=scaled.dtype, device=scaled.device) + self.factors @ scaled.T


def inverse(matrix: Tensor) -> Tensor:
    """The inverse of a small matrix (K, K); for K = 1 without the cost of a factorisation per row of a stack."""
    return 1 / matrix if matrix.shape[-1] == 1 else torch.linalg.inv(matrix)


def kl_diagonal(mean: Tensor, log_sd: Tensor, precision: Tensor) -> Tensor:
    """KL(N(mean, diag(exp(2 log_sd))) || N(0, I / precision)), (), nats, for mean and log_sd (D,)."""
    square = mean**2 + torch.exp(2 * log_sd)
    return 0.5 * (precision * square - 1 - torch.log(precision) - 2 * log_sd).sum()
